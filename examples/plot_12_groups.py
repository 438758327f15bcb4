"""
One model for several groups
============================

Organisms, hospitals, batches, instruments: samples come in groups that are known, each with too few samples
for a model of its own. What they have in common should be learned from all, what is special from the group.
"""

# %%
# Three groups. In all of them the label depends on view 1, and in two of them as much on a view of their own.
# We compare one model for all, one for each, and groups with a shared part (``shared=0.5``), on 30 to 240
# samples.

import matplotlib.pyplot as plt
import numpy as np

from localmkl import HLMKLClassifier, MKLClassifier
from localmkl.datasets import make_localized
from localmkl.explain import effects
from localmkl.kernels import Linear
from localmkl.plots import plot_effects

sizes, repetitions, n_new = (30, 60, 120, 240), 6, 600
names = ("one for all", "one for each", "groups, shared")
scores = {name: np.zeros((len(sizes), repetitions)) for name in names}
for place, n in enumerate(sizes):
    for repetition in range(repetitions):
        X, y, groups, views = make_localized(n + n_new, n_views=5, locality=0.5, random_state=repetition)
        train, new = slice(0, n), slice(n, None)
        kernels = [Linear(columns=view) for view in views]
        pooled = MKLClassifier(kernels).fit(X[train], y[train])
        shared = HLMKLClassifier(kernels, gate="groups", shared=0.5)
        shared.fit(X[train], y[train], groups=groups[train])
        right = np.empty(n_new)
        for group in range(3):
            own, others = groups[train] == group, groups[new] == group
            alone = MKLClassifier(kernels).fit(X[train][own], y[train][own])
            right[others] = alone.predict(X[new][others]) == y[new][others]
        scores["one for all"][place, repetition] = pooled.score(X[new], y[new])
        scores["one for each"][place, repetition] = right.mean()
        scores["groups, shared"][place, repetition] = shared.score(X[new], y[new], groups=groups[new])

figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
for name, values in scores.items():
    errors = values.std(axis=1, ddof=1) / np.sqrt(repetitions)
    ax.errorbar(sizes, values.mean(axis=1), errors, marker="o", capsize=2, label=name)
ax.set(xscale="log", xlabel="training samples", ylabel="accuracy on new samples")
ax.set_xticks(sizes, labels=sizes)
ax.legend()
plt.show()

# %%
# What matters where? Effects on new samples say it: the share of the variance of decisions that a view
# explains, among all samples for the shared part and among its own samples for each group.

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
plot_effects(effects(shared, X[new], groups[new]), ax=ax)
plt.show()

# %%
# A sample of a group that was never seen gets the shared part and a bit of each, and the model says so.

parts = shared.contributions(X[:1], groups=["a new one"])[0]
for name, part in zip(shared.cluster_names_, parts.sum(axis=1), strict=True):
    print(f"{name:7s} {part:+.3f}")

# %%
# With ten samples a group one model for all is as good. From twenty on, sharing beats both: it learns view 1
# from all samples, and what is special from those of the group.
