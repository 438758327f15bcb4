"""
Probabilities that can be trusted
=================================

A decision says which class, a probability how sure that is. We draw labels from known probabilities and ask
which models find them: the log loss, whose decisions are probabilities, or a hinge calibrated afterwards.
"""

# %%
# Calibration learns a curve from decisions to probabilities by cross-validation, from five fits. The log loss
# needs one, but the right C: we let a search choose it by the log loss.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, log_loss

from localmkl import CLMKLClassifier
from localmkl.datasets import make_localized
from localmkl.kernels import Linear
from localmkl.model_selection import MKLSearchCV
from localmkl.plots import plot_reliability

X, score, _, views = make_localized(
    2500, n_views=4, n_columns=3, separation=6, regression=True, noise=0, random_state=0
)
y = np.random.default_rng(0).random(len(X)) < expit(4 * score)
X, y, X_test, y_test = X[:500], y[:500], X[500:], y[500:]
kernels = [Linear(columns=view) for view in views]
settings = {"gate_kernel": 0, "p": 1, "evenness": 0.35, "random_state": 0}
likely = CLMKLClassifier(kernels, C=0.1, loss="log_loss", **settings)
models = {
    "log loss, C = 0.1": likely,
    "log loss, C chosen": MKLSearchCV(likely, {"C": [0.1, 1, 3]}, scoring="neg_log_loss", cv=3),
    "calibrated hinge": CalibratedClassifierCV(CLMKLClassifier(kernels, **settings), cv=5),
}
for name, model in models.items():
    given = model.fit(X, y).predict_proba(X_test)
    right = np.mean(model.predict(X_test) == y_test)
    losses = f"log loss {log_loss(y_test, given):.3f}, Brier score {brier_score_loss(y_test, given):.3f}"
    print(f"{name:18s} accuracy {right:.3f}, {losses}")

# %%
# Of the samples that get a probability near 0.3, three of ten should be of the class.

figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
plot_reliability(models, X_test, y_test, ax=ax)
plt.show()

# %%
# With the C of the search, the log loss means what it says, and so does the calibrated hinge. With a small C
# accuracy is the same, but probabilities are drawn towards the middle: the diagram shows what accuracy hides.
