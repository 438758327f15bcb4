"""
Bring your own Gram matrices
============================

Kernels may come from anywhere: another program, a file, a week of computation. A `GramStack` holds them and
lets scikit-learn slice rows and columns, without a copy.
"""

# %%
# Four Gram matrices of images of ones and eights, written as one file in single precision, and opened as a
# memory map: the numbers stay on disk until they are read.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_score

from localmkl import GramStack, MKLClassifier

images, digits = load_digits(return_X_y=True)
kept = np.isin(digits, (1, 8))
pixels, y = images[kept] / 16, digits[kept]
grams = {
    "Gaussian": rbf_kernel(pixels),
    "Laplacian": laplacian_kernel(pixels),
    "polynomial": polynomial_kernel(pixels),
    "chi-squared": chi2_kernel(pixels, gamma=0.1),
}
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "grams.npy"
np.save(path, np.stack(list(grams.values())).astype(np.float32))

stack = GramStack.open(path)
print(stack)

# %%
# Cross-validation slices rows and columns together.

model = MKLClassifier("precomputed", p=1.5)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
print("accuracy by fold", cross_val_score(model, stack, y, cv=folds).round(3))

# %%
# By hand: the square part of the training rows to ``fit``, new rows against training rows to ``predict``.

rows = np.random.default_rng(0).permutation(len(y))
train, test = rows[:200], rows[200:]
model.fit(stack[np.ix_(train, train)], y[train])
print("held out", round(model.score(stack[np.ix_(test, train)], y[test]), 3))

# %%

order = np.argsort(y, kind="stable")
figure, axes = plt.subplots(1, 4, figsize=(9, 2.8), layout="constrained")
for m, (ax, name) in enumerate(zip(axes, grams, strict=True)):
    ax.imshow(stack[np.ix_(order, order)].block(m), cmap="viridis")
    ax.set(title=f"{name}\nweight {model.kernel_weights_[0, m]:.2f}", xticks=[], yticks=[])
plt.show()

# %%
# Ones come first, eights second: the blocks on the diagonal are what the classes look like to each kernel.
# Weights belong to normalised kernels, so they can be compared though the scales of the Grams differ.

folder.cleanup()
