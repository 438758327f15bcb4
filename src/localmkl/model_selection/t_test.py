"""Two methods on k splits that share rows: ``t = mean(d) / sqrt((1/k + n_test/n_train) var(d))``."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


def corrected_t_test(differences: ArrayLike, test_share: float) -> tuple[float, float, float, float]:
    """Return mean, standard error, t and one-sided p of the corrected resampled t-test.

    Parameters
    ----------
    differences : array-like of shape (n_splits,)
        Of the scores of two models on the same splits.
    test_share : float
        Rows that are scored for each one that is trained on.

    Returns
    -------
    mean, error, t, p : float
        With ``error^2 = (1 / n_splits + test_share) var(differences)``; p is that of a mean above zero.
        Without any variance p is 1, or 0 if the mean is above zero.

    References
    ----------
    Nadeau, Bengio: Inference for the generalization error. Machine Learning 52, 2003.

    Examples
    --------
    >>> mean, error, t, p = corrected_t_test([0.1, 0.3, 0.2, 0.2], 0.25)
    >>> round(mean, 3), round(t, 3), round(p, 3)
    (0.2, 3.464, 0.02)
    """
    given = np.asarray(differences, dtype=np.float64)
    mean, n_splits = float(given.mean()), len(given)
    error = float(np.sqrt((1.0 / n_splits + test_share) * given.var(ddof=1)))
    if error == 0.0:
        return mean, error, float(np.sign(mean)) * np.inf if mean else 0.0, 0.0 if mean > 0.0 else 1.0
    return mean, error, mean / error, float(stats.t.sf(mean / error, n_splits - 1))
