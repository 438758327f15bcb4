"""
Which motif length matters for which splice sites?
==================================================

Twenty weighted-degree kernels look at DNA around possible splice junctions, each with motifs of one length
more, and the model learns one set of kernel weights per cluster of sequences. We cross-validate it on UCI's
primate splice junctions (shipped with the package, CC BY 4.0) and look at the weights.
"""

# %%
# A donor site (EI) is where an exon ends. The twenty kernels cost one sweep over the pairs of sequences,
# and every fit ends with a certificate: its duality gap.

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_validate

from localmkl import CLMKLClassifier
from localmkl.datasets import load_splice
from localmkl.kernels import WeightedDegree

X, y, _ = load_splice("EI")
chosen = np.random.default_rng(0).permutation(len(X))[:600]
X, y = X[chosen], y[chosen]

degrees = range(1, 21)
model = CLMKLClassifier(
    kernels=[WeightedDegree(d) for d in degrees], n_clusters=3, evenness=0.5, p=4 / 3, C=1.0, random_state=0
)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
scores = cross_validate(model, X, y, cv=folds, scoring=["accuracy", "roc_auc"])
for name in ("accuracy", "roc_auc"):
    values = scores[f"test_{name}"]
    print(f"{name:8s}  {values.mean():.3f} +- {values.std():.3f}   (5 folds, n = {len(X)})")

# %%
# Fitted on all sequences, the model shows which degree counts in which cluster.

model.fit(X, y)
shares = model.kernel_weights_ / model.kernel_weights_.sum(axis=1, keepdims=True)
sizes = model.memberships(X).sum(axis=0)
print(f"\nduality gap {model.duality_gap_:.1e}; share of each degree in percent, by cluster")
print("degree            " + "".join(f"{d:4d}" for d in degrees))
for j, row in enumerate(shares):
    print(f"cluster {j} (n~{sizes[j]:3.0f})  " + "".join(f"{100 * share:4.0f}" for share in row))

# %%
# The same as a figure, where matplotlib is installed.

try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None

if plt is not None:
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for j, row in enumerate(shares):
        axes.plot(list(degrees), row, marker="o", label=f"cluster {j}, about {sizes[j]:.0f} sites")
    axes.set(xlabel="degree: longest motif that counts", ylabel="share of the kernel weights")
    axes.legend()
    plt.show()

# %%
# Short motifs carry the largest weights in all three clusters, and least so in the largest one; donor
# sites are easy, so the clusters differ little here.
