"""Generated data where localisation pays, by as much as one likes.

    group(x) is seen in view 0;  score(x) = (1 - locality) s_1(x) + locality s_{1 + group(x)}(x)

with s_v a linear function of view v. The label is the score's sign, the target its value, plus noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from localmkl._checks import check_integer, check_number
from localmkl._types import Seed


class LocalizedData(NamedTuple):
    """The result of `make_localized`.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_views * n_columns)
    y : ndarray of shape (n_samples,)
    groups : ndarray of shape (n_samples,)
    views : list of slice
        The columns of each view. View 0 shows the group, view 1 + g matters for group g, the rest is
        noise.
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    views: list[slice]


def make_localized(
    n_samples: int = 300,
    *,
    n_groups: int = 3,
    n_views: int = 6,
    n_columns: int = 4,
    locality: float = 1.0,
    separation: float = 4.0,
    noise: float = 0.05,
    regression: bool = False,
    random_state: Seed = None,
) -> LocalizedData:
    """Generate groups whose labels depend on different views.

    Parameters
    ----------
    n_samples : int, default=300
        Rows.
    n_groups : int, default=3
        Groups of rows, equally likely.
    n_views : int, default=6
        At least ``n_groups + 1``.
    n_columns : int, default=4
        Columns of each view, at least the number of groups.
    locality : float, default=1.0
        From 0 (all groups depend on view 1) to 1 (each group on its own view).
    separation : float, default=4.0
        Distance between the groups' centres in view 0, in standard deviations.
    noise : float, default=0.05
        Share of labels flipped; standard deviation of the noise on real targets.
    regression : bool, default=False
        Return real targets instead of labels in {-1, +1}.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    LocalizedData
        Named tuple (X, y, groups, views).

    Examples
    --------
    >>> X, y, groups, views = make_localized(200, random_state=0)
    >>> X.shape, sorted(set(y.tolist())), len(views)
    ((200, 24), [-1, 1], 6)
    """
    check_integer("n_samples", n_samples, low=1)
    check_integer("n_groups", n_groups, low=1)
    check_integer("n_views", n_views, low=n_groups + 1)
    check_integer("n_columns", n_columns, low=n_groups)
    check_number("locality", locality, low=0.0, high=1.0)
    check_number("separation", separation, low=0.0, finite=True)
    check_number("noise", noise, low=0.0, high=np.inf if regression else 1.0, finite=True)
    rng = check_random_state(random_state)
    groups = rng.randint(n_groups, size=n_samples)
    table = rng.normal(size=(n_samples, n_views, n_columns))
    # Corners of a simplex are equally far apart.
    centres = separation / np.sqrt(2.0) * np.eye(n_columns)[:n_groups]
    table[:, 0] += centres[groups] - centres.mean(axis=0)
    directions = rng.normal(size=(n_views, n_columns))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    scores = np.einsum("ivk,vk->iv", table, directions)
    own = scores[np.arange(n_samples), 1 + groups]
    score = (1.0 - locality) * scores[:, 1] + locality * own
    if regression:
        y = score + noise * rng.normal(size=n_samples)
    else:
        flips = np.where(rng.uniform(size=n_samples) < noise, -1, 1)
        y = np.where(score > 0.0, 1, -1) * flips
    views = [slice(v * n_columns, (v + 1) * n_columns) for v in range(n_views)]
    return LocalizedData(table.reshape(n_samples, -1), y, groups, views)
