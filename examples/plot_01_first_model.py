"""
One answer, or one answer per cluster?
======================================

Three groups of samples, six views of each: which view matters? We ask once for all samples (lp-norm MKL),
then once per cluster (CLMKL).
"""

# %%
# View 0 shows the group of a sample. The label depends on view 1 in the first group, on view 2 in the
# second and on view 3 in the third; views 4 and 5 are noise.

import matplotlib.pyplot as plt

from localmkl import CLMKLClassifier, MKLClassifier
from localmkl.datasets import make_localized
from localmkl.explain import effects
from localmkl.kernels import Linear
from localmkl.plots import plot_effects

data = make_localized(1300, random_state=0)
X, y, X_test, y_test = data.X[:300], data.y[:300], data.X[300:], data.y[300:]

# %%
# A kernel is a measure of likeness; here there is one for each view. The model weighs them. With ``p=1`` it
# prefers few of them.

kernels = [Linear(columns=view) for view in data.views]
one_answer = MKLClassifier(kernels, p=1).fit(X, y)
per_cluster = CLMKLClassifier(kernels, n_clusters=3, evenness=0.4, gate_kernel=0, p=1, random_state=0).fit(
    X, y
)
for model in (one_answer, per_cluster):
    print(
        f"{type(model).__name__:16s} accuracy {model.score(X_test, y_test):.2f}, "
        f"duality gap {model.duality_gap_:.0e}"
    )

# %%
# The duality gap is a certificate: no other weights and no other support vectors can lower the objective by
# more than this share. Effects say what was found: the share of the variance of decisions that each kernel
# explains, here for new samples.

figure, axes = plt.subplots(2, 1, figsize=(7, 4.5), height_ratios=[1, 3], layout="constrained")
for ax, model in zip(axes, (one_answer, per_cluster), strict=True):
    plot_effects(effects(model, X_test), ax=ax)
    ax.set(title=type(model).__name__, xlabel="", xticks=range(6))
    ax.set_xticklabels(["group", "view 1", "view 2", "view 3", "noise", "noise"])
plt.show()

# %%
# MKL relies on all three views, since each is right for a third of the samples. CLMKL finds the view of each
# group without having been told the groups.
