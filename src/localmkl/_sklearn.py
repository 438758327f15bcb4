"""All that is used of scikit-learn beyond its public interface: a new version breaks this file alone.

Names are imported on first use: kernels need no searches.
"""

from importlib import import_module

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
