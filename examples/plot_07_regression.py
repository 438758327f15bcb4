"""
Regression: a curve that is slow here and fast there
====================================================

One Gaussian kernel is wide, one is narrow, and the curve needs the wide one on the left and the narrow one
on the right. We let the weights differ between two clusters of places.
"""

# %%

import matplotlib.pyplot as plt
import numpy as np

from localmkl import CLMKLRegressor, MKLRegressor, UniformMKLRegressor
from localmkl.kernels import RBF, Linear


def curve(x):
    return np.where(x < 5, np.sin(0.6 * x), np.sin(3.0) + np.sin(6 * (x - 5)))


rng = np.random.default_rng(0)
x = rng.uniform(0, 10, size=240)
y = curve(x) + 0.15 * rng.normal(size=240)
X = x[:, None]

# %%
# The gate looks at the place itself, by a linear kernel; the two kernels of the model are Gaussians.

widths = (2.0, 0.15)
kernels = [RBF(gamma=1 / (2 * width**2)) for width in widths]
models = {
    "UNIF": UniformMKLRegressor(kernels, C=0.3),
    "MKL": MKLRegressor(kernels, p=1, C=0.3),
    "CLMKL": CLMKLRegressor(
        kernels, p=1, C=0.3, n_clusters=2, evenness=0.52, gate_kernel=Linear(), random_state=0
    ),
}
grid = np.linspace(0, 10, 500)
for name, model in models.items():
    error = model.fit(X, y).predict(grid[:, None]) - curve(grid)
    left, right = (np.sqrt(np.mean(error[part] ** 2)) for part in (grid < 5, grid >= 5))
    print(f"{name:5s}  error on the left {left:.3f}, on the right {right:.3f}")

# %%

model = models["CLMKL"]
figure, (upper, lower) = plt.subplots(
    2, 1, figsize=(7, 4.5), sharex=True, height_ratios=[2, 1], layout="constrained"
)
upper.plot(x, y, ".", color="0.7", label="samples")
upper.plot(grid, curve(grid), "k--", linewidth=1, label="curve")
upper.plot(grid, model.predict(grid[:, None]), color="#0072B2", label="CLMKL")
upper.set(ylabel="y")
upper.legend(loc="lower left")
local = model.memberships(grid[:, None]) @ model.kernel_weights_
for width, values, colour in zip(widths, local.T, ("#E69F00", "#009E73"), strict=True):
    lower.plot(grid, values, color=colour, label=f"width {width}")
lower.set(xlabel="x", ylabel="local weight")
lower.legend()
plt.show()

# %%
# The weights draw the map that was hidden: the wide kernel counts on the left only. The error hardly falls:
# with this many samples a narrow kernel can draw a slow curve too, and the plain sum does as well. Read
# weights as a description, and judge quality by errors on new data.
