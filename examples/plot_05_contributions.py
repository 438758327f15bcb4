"""
Why this decision? Reading contributions
========================================

Every decision is a sum with one term per cluster and kernel, and `contributions` returns the terms. We look
at tumours of the Wisconsin data that ships with scikit-learn.
"""

# %%
# Ten measurements of cell nuclei come in three views: their mean, their standard error, and their worst
# value over the cells of an image.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from localmkl import CLMKLClassifier
from localmkl.explain import effects
from localmkl.kernels import RBF

X, y = load_breast_cancer(return_X_y=True)
y = np.where(y == 0, "malignant", "benign")
X, X_test, y, y_test = train_test_split(X, y, train_size=250, random_state=0, stratify=y)
scaler = StandardScaler().fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)

names = ("mean", "error", "worst")
kernels = [RBF(columns=slice(10 * k, 10 * k + 10)) for k in range(3)]
model = CLMKLClassifier(kernels, n_clusters=2, evenness=0.6, random_state=0).fit(X, y)
print(f"accuracy {model.score(X_test, y_test):.3f}; a positive decision means {model.classes_[1]}")

# %%
# The terms and the intercept add up to the decision exactly.

parts = model.contributions(X_test)
decisions = model.decision_function(X_test)
difference = np.abs(parts.sum(axis=(1, 2)) + model.intercept_ - decisions).max()
print(f"{parts.shape} = (samples, clusters, kernels); largest difference {difference:.0e}")

# %%
# Three tumours: the most clearly benign, the least certain, the most clearly malignant.

chosen = [decisions.argmin(), np.abs(decisions).argmin(), decisions.argmax()]
figure, axes = plt.subplots(1, 3, figsize=(8.5, 3), sharey=True, layout="constrained")
colours = ("#0072B2", "#E69F00")
for ax, i in zip(axes, chosen, strict=True):
    for j, colour in enumerate(colours):
        places = np.arange(3) + 0.4 * j - 0.2
        label = f"cluster {j + 1}: membership {model.memberships(X_test[[i]])[0, j]:.2f}"
        ax.bar(places, parts[i, j], width=0.4, color=colour, label=label)
    ax.axhline(0, color="k", linewidth=0.8)
    ax.set(title=f"decision {decisions[i]:.2f} ({y_test[i]})", xticks=range(3), xticklabels=names)
    ax.legend(fontsize="small")
axes[0].set_ylabel("contribution to the decision")
plt.show()

# %%
# The clearly benign tumour is decided by the worst values, in the cluster to which it belongs; the clearly
# malignant one by means and worst values, in the other cluster. In the uncertain one, the two clusters
# disagree and nearly cancel.

# %%
# Which view moves decisions on new tumours? The effect of a view is the share of the variance of decisions
# that its contributions explain. Effects sum to one over clusters and views.

found = effects(model, X_test)
for name, share in zip(names, found.shares[0].sum(axis=0), strict=True):
    print(f"{name:6s} {share:.0%}")
