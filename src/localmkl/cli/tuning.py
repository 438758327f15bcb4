"""The search of ``localmkl fit`` and ``localmkl tune``: its candidates, its folds, and what is said of them.

Where the method has a shared part, UNIF and MKL are among the candidates: with `shared` 1 weights are the
same everywhere, and with an infinite p they are equal. They are chosen unless clusters are better by more
than one standard error.
"""

import warnings
from dataclasses import dataclass, replace
from math import inf, prod
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import KFold, StratifiedKFold

from localmkl._files import write_whole
from localmkl._spelling import meant
from localmkl.cli.files import TABLE
from localmkl.cli.voice import Misuse, as_csv, n_of
from localmkl.cli.words import OPTIONS
from localmkl.model_selection import MKLSearchCV, OneStandardError, at_edge, score_table
from localmkl.model_selection.checkpoint import OtherSearch

FOLDS, FEWEST = 5, 3
"""Folds by default, and the fewest with which ``fit`` searches by itself."""


HALF = 0.5
"""Share that known groups have in common unless folds speak against it: the best on promoters of two
organisms, however many there were."""


@dataclass(frozen=True)
class Values:
    """The values that a search tries for parameters that are not set.

    Attributes
    ----------
    C : tuple of float
        For classes; for numbers a tenth. If the largest is best, larger ones are tried.
    norms, local_norms : tuple of float
        p, without clusters and with them.
    shared, evenness : tuple of float
        With clusters.
    """

    C: tuple
    norms: tuple
    local_norms: tuple
    shared: tuple
    evenness: tuple

    def for_numbers(self):
        """Return the values for regression: targets are noisier than labels, and want a smaller C."""
        return replace(self, C=tuple(cost / 10.0 for cost in self.C))


FULL = Values((0.1, 1.0, 10.0, 100.0), (1.0, 4 / 3, 2.0, inf), (1.0, 4 / 3, 2.0), (0.0, 0.5), (0.4, 0.6, 0.8))
QUICK = Values((1.0, 10.0, 100.0), (1.0, 4 / 3, inf), (4 / 3,), (0.0, 0.5), (0.5,))
"""Values of ``tune``, and of ``fit`` when it is not told to tune ..."""
EVERYWHERE = replace(QUICK, shared=())
"""... and of ``fit`` on many rows: no clusters."""

QUICK_ENTRIES, MOST_ENTRIES = 4e7, 2e8
"""Entries of Gram matrices, for each of several classes, up to which ``fit`` searches with clusters (2000
rows with 10 kernels), and without them (4500 rows): each takes some two minutes on two cores. With a rank,
entries of features: 20,000 rows with 10 kernels of rank 200."""

CALLED = {"roc_auc": "AUC", "r2": "R2"}


@dataclass(frozen=True)
class Search:
    """The options of a search.

    Attributes
    ----------
    folds : int
    scoring : str or None
    jobs : int or None
    table : Path or None
        File of all scores.
    quick : bool
        Whether it is the small search of ``fit``, which is left out where it does not pay.
    """

    folds: int = FOLDS
    scoring: str | None = None
    jobs: int | None = None
    table: Path | None = None
    quick: bool = False


def candidates(known, given, values, *, by_groups=False):
    """Return the grids of a search, a list of dicts: the user's lists, and default ones for what is not set.

    Parameters
    ----------
    known : dict
        Parameters of the estimator and what they are without a search.
    given : dict of list
        The user's lists.
    values : Values
    by_groups : bool
        Whether known groups take the place of clusters: their memberships have no evenness to choose.
    """
    base = {"C": list(values.C), **given}
    if "shared" not in known:
        return [{**({"p": list(values.norms)} if "p" in known else {}), **base}]
    base = {name: base[name] for name in base if name not in ("evenness", "n_clusters", "shared")}
    shares = given.get("shared", [None] if "evenness" in given else [1.0, *values.shared])
    grids = [{"p": list(values.norms), **base, "shared": [1.0]}] if 1.0 in shares else []
    apart = [share for share in shares if share != 1.0]
    local = {"p": list(values.local_norms), **base, "n_clusters": given.get("n_clusters")}
    local |= {"shared": None if apart == [None] else apart}
    if "evenness" in known and not by_groups:
        fewest = min(given.get("n_clusters", [known["n_clusters"]]))
        possible = [value for value in values.evenness if value > 1.0 / fewest]
        local["evenness"] = given.get("evenness", possible or [max(known["evenness"], 1.0 / fewest)])
    grids += [{name: tried for name, tried in local.items() if tried is not None}] if apart else []
    return grids


def check_pairs(grids, known):
    """Raise if an evenness cannot be had with a number of clusters that is tried too."""
    for grid in grids:
        for clusters in grid.get("n_clusters", [known.get("n_clusters", 1)]):
            for evenness in grid.get("evenness", ()):
                if 0 < evenness * clusters < 1 - 1e-9:
                    raise Misuse(
                        f"--evenness {evenness:g} cannot be had with --clusters {clusters:g}, where it is "
                        f"at least {1 / clusters:.4g}; leave out one of them, or search them one after the "
                        "other."
                    )


def pays(order, content, n_kernels):
    """Return the values that ``fit`` tries by itself, or None, and what is to be said about it."""
    other_quantile = "quantile" in order.grids.get("loss", ()) and order.grids.get("quantile", [0.5]) != [0.5]
    if order.method == "lmkl" or order.unlabeled is not None or other_quantile:
        return None, ""
    rarest, what = rarest_of(content, order.regression)
    if rarest < FEWEST:
        return None, f"{what} has {n_of(rarest, 'row')}, too few for cross-validation: not tuned."
    n_classes = 2 if order.regression else len(np.unique(content.y))
    columns = len(content) if order.rank is None else min(order.rank, len(content))
    entries = n_kernels * len(content) * columns * (1 if n_classes == 2 else n_classes)
    told = f"{n_kernels} kernels on {len(content)} rows take long; 'localmkl tune' searches all the same"
    if entries > MOST_ENTRIES:
        return None, f"Not tuned: {told}."
    if entries > QUICK_ENTRIES and order.method in ("clmkl", "hlmkl"):
        return EVERYWHERE, f"Clusters are not tried: {told}."
    return QUICK, ""


def rarest_of(content, regression):
    """Return the number of rows of the smallest class, and what it is called; without classes, of all."""
    if regression:
        return len(content), "The file"
    labels, counts = np.unique(content.y, return_counts=True)
    return int(counts.min()), f"The class {str(labels[counts.argmin()])!r}"


def _rule(order):
    """Return what chooses: of candidates as good as the best, MKL, or groups that share half."""
    return OneStandardError({"shared": 1.0 if order.asked.groups is None else HALF})


def count_candidates(grids):
    """Return the number of candidates of a list of grids."""
    return sum(prod(len(values) for values in grid.values()) for grid in grids)


def run_search(order, estimator, grids, content, voice, options):
    """Return the fitted search, with its table written and its choice said."""
    scoring = options.scoring or default_scoring(content, order.regression, grids)
    check_scoring_option(scoring)
    folds = _folds(order, estimator, content, options)
    hint = "; --no-tune fits at once" if options.quick else ""
    voice.note(f"Searching by {scoring}: {_tried(grids)}{hint}.")
    search = MKLSearchCV(
        estimator,
        grids,
        scoring=scoring,
        n_jobs=options.jobs,
        refit=_rule(order) if any("shared" in grid for grid in grids) else True,
        cv=folds,
        follow=[] if "C" in order.grids else ["C"],
        checkpoint=str(order.kept),
        random_state=order.seed,
        verbose=int(not voice.quiet),
        error_score="raise",
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The search was interrupted")  # said by `train`
        _run(search, content, order)
    if search.interrupted_:
        raise KeyboardInterrupt
    if options.table is not None:
        table = score_table(search)
        rows = zip(*(np.asarray(table[name]).tolist() for name in table), strict=True)
        write_whole(options.table, as_csv(list(table), rows).encode())
    voice.note(_choice(search, scoring))
    for name, (value, end) in at_edge(search).items():
        further = "smaller" if end == "smallest" else "larger"
        option = OPTIONS.get(name, name)
        voice.note(f"The best {name}, {shown(value)}, is the {end} tried; try {further} ones by --{option}.")
    return search.set_params(checkpoint=None, verbose=0)  # a copy of it must not write there


def check_scoring_option(scoring):
    """Raise if a metric is not one of scikit-learn."""
    if scoring not in get_scorer_names():
        hint = meant(scoring, get_scorer_names(), alike=0.0)
        raise Misuse(f"--scoring must be a metric of scikit-learn, got {scoring!r}{hint}")


def _folds(order, estimator, content, options):
    """Return a splitter whose folds have rows of every class and, where there are enough, of every group."""
    rarest, what = rarest_of(content, order.regression)
    n_folds = min(options.folds, rarest) if options.quick else options.folds
    if rarest < 2:
        raise ValueError(
            f"{what} has {n_of(rarest, 'row')}, and cross-validation needs two or more; give more rows"
            f"{'' if order.regression else ', leave the class out'}, or use 'localmkl fit --no-tune'."
        )
    if rarest < n_folds:
        raise ValueError(
            f"{what} has {rarest} rows, too few for {n_folds} folds; give fewer --folds, or more rows."
        )
    classes = is_classifier(estimator)
    alike = content.y if classes else None
    if content.groups is not None:
        alike = _alike(content, classes, n_folds)
    kind = KFold if alike is None else StratifiedKFold
    splitter = kind(n_folds, shuffle=True, random_state=order.seed)  # files are often sorted by class
    return splitter if content.groups is None else list(splitter.split(content.y, alike))


def _alike(content, classes, n_folds):
    """Return what every fold has its part of: groups, and within them classes, if each has enough rows.

    Else classes; None where there are none.
    """
    groups = content.groups.astype(str)
    alike = np.char.add(np.char.add(groups, " "), content.y.astype(str)) if classes else groups
    enough = np.unique(alike, return_counts=True)[1].min() >= n_folds
    return alike if enough else content.y if classes else None


def _run(search, content, order):
    """Fit a search; leave no finished work behind that would only meet the same error again."""
    begun = order.kept.exists()
    try:
        search.fit(content.rows, content.y, **groups_beside(content))
    except OtherSearch as error:
        if not order.force:
            raise ValueError(
                f"{str(order.kept)!r} is of a search with other data or options; give that command again to "
                "finish it, choose another --out, or give --force to drop it."
            ) from error
        order.kept.unlink()
        search.fit(content.rows, content.y, **groups_beside(content))
    except (ValueError, TypeError):
        if not begun:
            order.kept.unlink(missing_ok=True)
        raise


def groups_beside(content):
    """Return the argument `groups` of ``fit``; those of a table are a column of its rows."""
    return {} if content.groups is None or content.kind == TABLE else {"groups": content.groups}


def _tried(grids):
    """Return the values of each parameter in all grids, in words."""
    found: dict[str, dict] = {}
    for grid in grids:
        for name, values in grid.items():
            found.setdefault(name, {}).update(dict.fromkeys(map(shown, values)))
    order = sorted(found, key=lambda name: (name != "C", name != "p"))
    return "; ".join(f"{name} {', '.join(found[name])}" for name in order)


def _choice(search, scoring):
    """Return a sentence on what a search has chosen."""
    best = search.best_params_
    values = ", ".join(f"{name} {shown(value)}" for name, value in best.items())
    meaning = ""
    if best.get("shared") == 1.0:
        meaning = " (equal weights: UNIF)" if best.get("p") == inf else " (the same weights everywhere: MKL)"
    score = f"{CALLED.get(scoring, scoring)} {search.cv_results_['mean_test_score'][search.best_index_]:.3f}"
    tried = [one["C"] for one in search.cv_results_["params"] if "C" in one]
    beyond = [value for value in dict.fromkeys(tried) if value not in _given(search, "C")]
    followed = f" C was followed to {', '.join(map(shown, beyond))}." if beyond else ""
    return f"Chosen by {search.n_splits_}-fold cross-validation, {score}: {values}{meaning}.{followed}"


def _given(search, name):
    return {value for grid in search.param_grid for value in grid.get(name, ())}


def shown(value):
    """Return a value of a parameter as text.

    Examples
    --------
    >>> shown(4 / 3), shown("hinge"), shown(float("inf"))
    ('1.333', 'hinge', 'inf')
    """
    return value if isinstance(value, str) else f"{value:.4g}"


def default_scoring(content, regression, grids):
    """Return AUC for two classes, accuracy for more, R2 for numbers, the absolute error for medians."""
    if any("quantile" in grid.get("loss", ()) for grid in grids):
        if any(grid.get("quantile", [0.5]) != [0.5] for grid in grids):
            raise Misuse(
                "--quantile other than 0.5 cannot be tuned: scikit-learn names no metric for it; fit it with "
                "parameters of your choice and --no-tune, or name a metric by --scoring."
            )
        return "neg_mean_absolute_error"
    if regression:
        return "r2"
    return "roc_auc" if len(np.unique(content.y)) == 2 else "accuracy"
