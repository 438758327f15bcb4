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
import numpy as np

from localmkl import CLMKLClassifier, MKLClassifier
from localmkl.datasets import make_localized
from localmkl.kernels import Linear

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
# more than this share. The weights say what was found.

figure, axes = plt.subplots(2, 1, figsize=(6, 3.2), height_ratios=[1, 3], sharex=True, layout="constrained")
for ax, model, title in zip(
    axes, (one_answer, per_cluster), ("MKL: one answer", "CLMKL: one answer per cluster"), strict=True
):
    weights = model.kernel_weights_
    image = ax.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), weight in np.ndenumerate(weights):
        ax.text(column, row, f"{weight:.1f}", ha="center", va="center", color="w" if weight > 0.6 else "k")
    ax.set(
        title=title, yticks=range(len(weights)), yticklabels=[f"cluster {j + 1}" for j in range(len(weights))]
    )
axes[0].set_yticklabels(["all samples"])
axes[1].set(xticks=range(6), xticklabels=["group", "view 1", "view 2", "view 3", "noise", "noise"])
figure.colorbar(image, ax=axes, label="kernel weight")
plt.show()

# %%
# MKL spreads its weight over the three views, since each is right for a third of the samples. CLMKL finds
# the view of each group without having been told the groups.
