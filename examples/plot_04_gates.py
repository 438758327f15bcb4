"""
Who belongs where: evenness and the choice of the gate
======================================================

Soft clusters have two knobs: how soft they are (`evenness`) and what they look at (the gate kernel). We
draw the first and compare choices of the second.
"""

# %%
# Two groups, seen in the two columns of view 0; each group has its own informative view.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from localmkl import CLMKLClassifier
from localmkl.datasets import make_localized
from localmkl.kernels import Linear

X, y, groups, views = make_localized(1200, n_groups=2, n_views=4, n_columns=2, separation=3, random_state=0)
X, y, X_test, y_test = X[:200], y[:200], X[200:], y[200:]
kernels = [Linear(columns=view) for view in views]
settings = {"n_clusters": 2, "p": 1, "random_state": 0}

# %%
# Evenness 1/2 is a hard partition of two clusters, evenness 1 gives everybody the same memberships.

figure, axes = plt.subplots(1, 3, figsize=(8, 2.8), sharex=True, sharey=True, layout="constrained")
for ax, evenness in zip(axes, (0.5, 0.6, 0.9), strict=True):
    model = CLMKLClassifier(kernels, evenness=evenness, gate_kernel=0, **settings).fit(X, y)
    dots = ax.scatter(*X[:, :2].T, c=model.memberships(X)[:, 0], cmap="coolwarm", vmin=0, vmax=1, s=12)
    ax.set(title=f"evenness {evenness}", xlabel="column 0 of view 0")
axes[0].set_ylabel("column 1 of view 0")
figure.colorbar(dots, ax=axes, label="membership in cluster 1")
plt.show()

# %%
# The gate can look at one kernel (``gate_kernel=0``), at all of them (the default), or be any model with
# ``fit`` and ``predict_proba``, here a mixture of two Gaussians on the columns of view 0. A mixture brings
# its own softness.

levels = (0.5, 0.55, 0.6, 0.7, 0.8, 1.0)
gate_kernels = {"view that shows the groups": 0, "all views (default)": None, "a view of noise": 3}
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, gate_kernel in gate_kernels.items():
    scores = [
        CLMKLClassifier(kernels, evenness=evenness, gate_kernel=gate_kernel, **settings)
        .fit(X, y)
        .score(X_test, y_test)
        for evenness in levels
    ]
    ax.plot(levels, scores, marker="o", label=name)

mixture = make_pipeline(
    make_column_transformer(("passthrough", np.arange(2))), GaussianMixture(2, random_state=0)
)
score = CLMKLClassifier(kernels, gate=mixture, **settings).fit(X, y).score(X_test, y_test)
ax.axhline(score, color="k", linestyle=":", label="mixture of Gaussians")
ax.set(xlabel="evenness of the memberships", ylabel="test accuracy")
ax.legend()
plt.show()

# %%
# The gate kernel matters more than how soft the memberships are: on the right view every evenness up to 0.8
# gains, on a view of noise none does. At evenness 1 all gates are the same, and the model is MKL.
