"""The choice of a candidate where several are as good as the best."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class OneStandardError:
    """Of the candidates within one standard error of the best, the one nearest to given values: for `refit`.

    Folds score candidates with noise, and the best of many is in part the luckiest. A candidate is as good as
    the best if its mean distance from the best over the folds is no larger than the standard error of that
    mean. Of these the nearest to `near` is chosen, parameter by parameter in the order of `near`, and of
    equally near ones that with the best score.

    Parameters
    ----------
    near : dict
        Parameters and the values to prefer, numbers: ``{"shared": 1.0}`` is MKL unless locality pays.
    metric : str, default="score"
        The metric that decides, where there are several.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> from localmkl.model_selection import MKLSearchCV, OneStandardError
    >>> X, y = make_localized(n_samples=60, random_state=0)[:2]
    >>> grid = {"shared": [0.0, 0.5, 1.0], "C": [1.0, 10.0]}
    >>> rule = OneStandardError({"shared": 1.0})
    >>> search = MKLSearchCV(CLMKLClassifier(random_state=0), grid, cv=3, refit=rule).fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'shared']
    """

    near: dict[str, Any]
    metric: str = "score"

    def __call__(self, cv_results: dict[str, Any]) -> int:
        """Return the number of the candidate that is chosen.

        Parameters
        ----------
        cv_results : dict of ndarray
            As ``cv_results_`` of a search.

        Returns
        -------
        int
            Its place in ``cv_results["params"]``.
        """
        folds = [name for name in cv_results if name.startswith("split") and self._decides(name)]
        scores = np.array([cv_results[name] for name in folds], dtype=float)
        means = np.where(np.isnan(scores).any(axis=0), -np.inf, scores.mean(axis=0))
        behind = scores[:, [means.argmax()]] - scores
        errors = behind.std(axis=0, ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else 0.0
        good = np.flatnonzero((means > -np.inf) & (behind.mean(axis=0) <= errors))
        away = [self._distance(cv_results["params"][number]) for number in good]
        return int(min(zip(away, -means[good], good, strict=True))[2])

    def _decides(self, name: str) -> bool:
        return name.partition("_")[2] == f"test_{self.metric}"

    def _distance(self, candidate: dict[str, Any]) -> list[float]:
        named = [name for name in self.near if name in candidate]
        return [abs(float(candidate[name]) - self.near[name]) for name in named]
