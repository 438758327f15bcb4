"""
What locality costs: generalisation bounds
==========================================

More freedom fits better and promises less. The bound of the method makes that visible: we compute its parts
from a hard partition to even memberships.
"""

# %%
# The bound on the error rate is a sum: the loss on the training data, a price for being sure, and a price
# for the size of the class of functions, which grows as memberships become harder.

import matplotlib.pyplot as plt
import numpy as np

from localmkl import CLMKLClassifier
from localmkl.bounds import bound_model
from localmkl.datasets import make_localized
from localmkl.kernels import Linear

X, y, _, views = make_localized(1600, random_state=0)
X, y, X_test, y_test = X[:600], y[:600], X[600:], y[600:]
kernels = [Linear(columns=view) for view in views]
levels = (1 / 3, 0.4, 0.5, 0.7, 1.0)
bounds, errors = [], []
for evenness in levels:
    model = CLMKLClassifier(
        kernels,
        C=0.1,
        n_clusters=3,
        evenness=evenness,
        gate_kernel=0,
        p=1,
        normalize="cosine",
        random_state=0,
    ).fit(X, y)
    bounds.append(bound_model(model, X, y))
    errors.append(1 - model.score(X_test, y_test))
    print(f"evenness {evenness:.2f}: bound {bounds[-1].total:.2f}, error on test samples {errors[-1]:.2f}")

# %%

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
bottom = np.zeros(len(levels))
parts = {"training loss": "empirical_risk", "confidence": "confidence", "complexity": "complexity"}
for (label, part), colour in zip(parts.items(), ("#0072B2", "#999999", "#E69F00"), strict=True):
    heights = np.array([getattr(bound, part) for bound in bounds])
    ax.bar(range(len(levels)), heights, bottom=bottom, color=colour, label=label)
    bottom += heights
ax.plot(errors, "kD", label="test error")
ax.set(xticks=range(len(levels)), xticklabels=[f"{level:.2f}" for level in levels], xlabel="evenness")
ax.set(ylabel="bound on the error rate, by its parts", ylim=(0, 1.8))
ax.legend(ncols=2, loc="upper left")
plt.show()

# %%
# Harder memberships lower the training loss and raise the price of the class. Above one, as here, the bound
# guarantees nothing about the error rate: read its parts as a comparison, and choose the evenness by
# cross-validation.
