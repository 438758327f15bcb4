"""The one-standard-error rule."""

import numpy as np

from localmkl.model_selection import OneStandardError


def results(*scores, shares):
    folds = {f"split{number}_test_score": row for number, row in enumerate(np.array(scores).T)}
    return {"params": [{"shared": share, "C": 1.0} for share in shares], **folds}


def test_of_candidates_as_good_as_the_best_the_nearest_is_chosen():
    noisy = results([0.9, 0.7, 0.8], [0.7, 0.9, 0.79], [0.5, 0.5, 0.5], shares=(0.0, 0.5, 1.0))
    assert OneStandardError({"shared": 0.5})(noisy) == 1
    assert OneStandardError({"shared": 1.0})(noisy) == 1
    assert OneStandardError({"shared": 0.0})(noisy) == 0


def test_a_candidate_that_every_fold_puts_behind_is_not_chosen():
    clear = results([0.9, 0.8, 0.85], [0.89, 0.79, 0.84], shares=(0.0, 0.5))
    assert OneStandardError({"shared": 0.5})(clear) == 0


def test_of_equally_near_candidates_the_best_is_chosen_and_failures_are_not():
    equal = results([0.7, 0.9], [0.9, 0.72], [np.nan, np.nan], shares=(0.5, 0.5, 0.5))
    assert OneStandardError({"shared": 0.5})(equal) == 1
