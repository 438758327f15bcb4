"""All that is used of scikit-learn beyond its public interface: a new version breaks this file alone.

Names are imported on first use: kernels need no searches.
"""

from importlib import import_module

import numpy as np

NAMES = {
    "BaseSearchCV": "sklearn.model_selection._search.BaseSearchCV",
    "check_feature_names": "sklearn.utils.validation._check_feature_names",
    "check_n_features": "sklearn.utils.validation._check_n_features",
    "check_sample_weight": "sklearn.utils.validation._check_sample_weight",
    "count_rows": "sklearn.utils.validation._num_samples",
    "insert_error_scores": "sklearn.model_selection._validation._insert_error_scores",
    "is_fitted": "sklearn.utils.validation._is_fitted",
    "report_failures": "sklearn.model_selection._validation._warn_or_raise_about_fit_failures",
    "score": "sklearn.model_selection._validation._score",
    "split_params": "sklearn.utils.validation._check_method_params",
    "split_rows": "sklearn.utils.metaestimators._safe_split",
    "take": "sklearn.utils._safe_indexing",
}
"""Our name: theirs."""

MIXTURE_STEPS, MIXTURE_GAIN = 10000, 1e-6
"""Most steps of a mixture, which takes some hundreds, and the gain in likelihood at which it ends."""

MOST_EQUAL = 1e-12
"""Variance of the clusters of rows that are all the same."""


def __getattr__(name):
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = NAMES[name].rpartition(".")
    return getattr(import_module(module), attribute)


def scorers_in(scorer):
    """Return the scorers, by name, that one of several metrics consists of; None if it is a single one."""
    return getattr(scorer, "_scorers", None)


def responses_for(scorer):
    """Return the methods that a scorer calls one of; empty if it does not say."""
    needed = getattr(scorer, "_response_method", ())
    return (needed,) if isinstance(needed, str) else tuple(needed or ())


def metric_of(scorer):
    """Return the function of targets and predictions that a scorer calls."""
    return scorer._score_func


def fit_mixture(rows, weights, start, least_variance):
    """Return shares, means and roots of the precisions of scikit-learn's mixture, for rows with weights.

    Parameters
    ----------
    rows : ndarray of shape (n, r)
    weights : ndarray of shape (n,)
        A row of weight w counts as w equal rows, which scikit-learn's own class does not know.
    start : ndarray of shape (n, l)
        Who belongs where at first.
    least_variance : float
        Added to every variance.
    """
    from sklearn.mixture import GaussianMixture

    shares = weights / weights.mean()

    class Weighted(GaussianMixture):
        def _initialize_parameters(self, X, random_state, **more):
            self._initialize(X, start * shares[:, None], **more)

        def _e_step(self, X, **more):
            norms, responsibilities = self._estimate_log_prob_resp(X, **more)
            return np.average(norms, weights=shares), responsibilities

        def _m_step(self, X, log_resp, **more):
            super()._m_step(X, log_resp + np.log(shares)[:, None], **more)

    mixture = Weighted(
        start.shape[1], reg_covar=max(least_variance, MOST_EQUAL), tol=MIXTURE_GAIN, max_iter=MIXTURE_STEPS
    )
    mixture.fit(rows)
    return mixture.weights_, mixture.means_, mixture.precisions_cholesky_
