"""
Four views of digits: which view matters for which class?
=========================================================

Small images of digits, described in four ways. One kernel per view, ten classes one against all; we compare
single views with their combinations and look at the weights.
"""

# %%
# The views: the pixels, the sums of rows and columns, the size of the Fourier coefficients, and how
# strongly grey values change from pixel to pixel.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from localmkl import CLMKLClassifier, MKLClassifier, UniformMKLClassifier
from localmkl.kernels import RBF

images = load_digits().images / 16
views = {
    "pixels": images,
    "sums": np.concatenate([images.sum(axis=1), images.sum(axis=2)], axis=1),
    "Fourier": np.abs(np.fft.rfft2(images)),
    "changes": np.abs(np.diff(images, axis=1, append=0) + 1j * np.diff(images, axis=2, append=0)),
}
tables = [view.reshape(len(images), -1) for view in views.values()]
ends = np.cumsum([table.shape[1] for table in tables])
kernels = [
    RBF("median", columns=slice(end - table.shape[1], end)) for end, table in zip(ends, tables, strict=True)
]
X, X_test, y, y_test = train_test_split(
    np.hstack(tables), load_digits().target, train_size=300, random_state=0, stratify=load_digits().target
)

# %%
# Single views are support vector machines with one kernel.

models = {name: UniformMKLClassifier([kernel]) for name, kernel in zip(views, kernels, strict=True)}
models |= {
    "UNIF": UniformMKLClassifier(kernels),
    "MKL": MKLClassifier(kernels, p=4 / 3),
    "CLMKL": CLMKLClassifier(kernels, p=4 / 3, evenness=0.5, random_state=0),
}
accuracy = {name: model.fit(X, y).score(X_test, y_test) for name, model in models.items()}
for name, value in accuracy.items():
    print(f"{name:8s} {value:.3f}")

# %%
# With several classes, `kernel_weights_` has one more axis in front: (classes, clusters, kernels).

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained")
colours = ["#999999"] * len(views) + ["#0072B2"] * 3
left.barh(list(accuracy), list(accuracy.values()), color=colours)
left.invert_yaxis()
left.set(xlim=(0.8, 1), xlabel="test accuracy")
shares = models["MKL"].kernel_weights_[:, 0]
shares = shares / shares.sum(axis=1, keepdims=True)
image = right.imshow(shares, cmap="Blues", vmin=0, aspect="auto")
right.set(
    xticks=range(4), xticklabels=views, yticks=range(10), ylabel="digit", title="share of each view, MKL"
)
figure.colorbar(image, ax=right)
plt.show()

# %%
# Together the views beat the best of them, and different digits lean on different views. Locality within a
# class does not pay here: CLMKL is no better than MKL, and the plain sum is as good.
