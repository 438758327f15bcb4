"""
Choosing C and evenness by cross-validation
===========================================

How soft should the clusters be, and how closely should the model fit? `MKLSearchCV` answers as scikit-learn's
``GridSearchCV`` would, and computes nothing twice.
"""

# %%
# A part of what decides the label is common to all groups here, the larger part is each group's own.

import matplotlib.pyplot as plt
import numpy as np

from localmkl import CLMKLClassifier, MKLClassifier
from localmkl.datasets import make_localized
from localmkl.kernels import Linear
from localmkl.model_selection import MKLSearchCV

X, y, _, views = make_localized(1200, locality=0.7, random_state=1)
X, y, X_test, y_test = X[:200], y[:200], X[200:], y[200:]
kernels = [Linear(columns=view) for view in views]

grid = {"C": [0.1, 1, 10], "evenness": [0.34, 0.4, 0.6, 0.8, 1.0]}
model = CLMKLClassifier(kernels, n_clusters=3, gate_kernel=0, p=1, random_state=0)
search = MKLSearchCV(model, grid, cv=3).fit(X, y)
print("best", search.best_params_)
print(
    f"cross-validated accuracy {search.best_score_:.3f}, on test samples {search.score(X_test, y_test):.3f}"
)
plain = MKLSearchCV(MKLClassifier(kernels, p=1), {"C": grid["C"]}, cv=3).fit(X, y)
print(f"MKL, its C chosen alike, on test samples {plain.score(X_test, y_test):.3f}")

# %%

table = search.cv_results_["mean_test_score"].reshape(len(grid["C"]), len(grid["evenness"]))
figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
image = ax.imshow(table, cmap="Blues", aspect="auto")
for place, value in np.ndenumerate(table):
    ax.text(
        *place[::-1], f"{value:.2f}", ha="center", va="center", color="w" if value > table.mean() else "k"
    )
ax.set(xticks=range(len(grid["evenness"])), xticklabels=grid["evenness"], xlabel="evenness")
ax.set(yticks=range(len(grid["C"])), yticklabels=grid["C"], ylabel="C")
figure.colorbar(image, label="cross-validated accuracy")
plt.show()

# %%
# Hard clusters win here, at a middling C, and the choice carries over to new samples. At evenness 1 the
# model is MKL: had the right-hand column won, there would be no need for clusters.
