"""scikit-learn's own checks, for all ten estimators, raw and precomputed."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import localmkl

NAMES = [name for name in localmkl.__all__ if name.endswith(("Classifier", "Regressor"))]
ESTIMATORS = [getattr(localmkl, name) for name in NAMES]


def settings(cls, **more):
    """A tight tolerance, because some checks compare two fits to seven digits."""
    chosen = {"tol": 1e-9, "max_iter": 5000, **more}
    if "random_state" in cls().get_params():
        chosen["random_state"] = 0
    return chosen


@parametrize_with_checks([cls(**settings(cls)) for cls in ESTIMATORS])
def test_raw_data_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@parametrize_with_checks([cls(**settings(cls, kernels="precomputed")) for cls in ESTIMATORS])
def test_precomputed_kernels_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_there_are_ten_estimators():
    assert len(ESTIMATORS) == 10


if __name__ == "__main__":
    pytest.main([__file__])
