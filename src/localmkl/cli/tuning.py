"""The search of ``localmkl fit`` and ``localmkl tune``: its candidates, its folds, and its choice.

Where the method has a shared part, one set of weights is among the candidates (`shared` 1), with equal
weights (p inf). It is chosen unless clusters or groups are better by more than one standard error.
"""

import warnings
from math import inf, prod

import numpy as np
import pandas as pd

from localmkl._files import write_whole
from localmkl.cli.plan import HALF, class_of
from localmkl.cli.voice import n_of

QUICK = {"C": [1.0, 10.0, 100.0], "p": [1.0, 4 / 3, inf], "local_p": [4 / 3]}
QUICK |= {"shared": [0.0, 0.5], "evenness": [0.5]}
GROUPED = {**QUICK, "local_p": [1.0, 4 / 3]}
FULL = {"C": [0.1, 1.0, 10.0, 100.0], "p": [1.0, 4 / 3, 2.0, inf], "local_p": [1.0, 4 / 3, 2.0]}
FULL |= {"shared": [0.0, 0.5], "evenness": [0.4, 0.6, 0.8]}
"""Values that ``fit``, ``fit`` with groups, and ``tune`` try of parameters that are not set.

C is for classes; for numbers a tenth. If an end of it is best, values beyond are tried. `local_p` is for
weights of clusters or groups."""

QUICK_ENTRIES, MOST_ENTRIES = 4e7, 2e8
"""Entries of kernel matrices, for each of several classes, up to which ``fit`` searches with clusters (2000
rows with 10 kernels), and without them (4500 rows): each takes some two minutes on two cores."""


def candidates(known, given, values, *, by_groups):
    """Return the grids of a search, a list of dicts: the user's lists, and default ones for what is not set.

    Parameters
    ----------
    known : dict
        Parameters of the estimator and what they are without a search.
    given : dict of list
        The user's lists.
    values : dict of list
    by_groups : bool
        Whether known groups take the place of clusters: their memberships have no evenness to choose.
    """
    base = {"C": values["C"], **given}
    if "shared" not in known:
        return [{**({"p": values["p"]} if "p" in known else {}), **base}]
    base = {name: base[name] for name in base if name not in ("evenness", "n_clusters", "shared")}
    shares = given.get("shared", [None] if "evenness" in given else [1.0, *values["shared"]])
    apart = [share for share in shares if share != 1.0]
    local = {"p": values["local_p"], **base} | ({} if apart == [None] else {"shared": apart})
    local |= {"n_clusters": given["n_clusters"]} if "n_clusters" in given else {}
    if "evenness" in known and not by_groups:
        hard = 1.0 / max(1, min(given.get("n_clusters", [known["n_clusters"]])))
        soft = [value for value in values["evenness"] if value > hard] or [max(hard, known["evenness"])]
        local["evenness"] = given.get("evenness", soft)
    grids = [{"p": values["p"], **base, "shared": [1.0]}] if 1.0 in shares else []
    return [*grids, local] if apart else grids


def grids_of(plan, *, quick):
    """Return the grids of a search, or None where it does not pay, and a sentence on what is left out."""
    values, note = (GROUPED if plan.groups else QUICK) if quick else FULL, ""
    if quick:
        n_kernels = getattr(plan.content.rows, "n_kernels", None) or len(plan.chosen.kernels)
        n_rows, n_classes = len(plan.content), 2 if plan.regression else len(np.unique(plan.content.y))
        entries = n_kernels * n_rows * min(plan.rank or n_rows, n_rows) * (1 if n_classes == 2 else n_classes)
        reason = f"{n_kernels} kernels on {n_rows} rows take long; 'localmkl tune' searches all the same"
        if entries > MOST_ENTRIES:
            return None, f"Not tuned: {reason}."
        if entries > QUICK_ENTRIES and plan.method in ("clmkl", "hlmkl"):
            values, note = {**values, "shared": []}, f"Clusters are not tried: {reason}."
    if plan.regression:
        values = {**values, "C": [cost / 10.0 for cost in values["C"]]}
    known = class_of(plan.method, plan.regression)().get_params(deep=False)
    grids = candidates(known, plan.grids, values, by_groups=plan.groups is not None)
    single = sum(prod(map(len, grid.values())) for grid in grids) == 1
    return None if quick and (single or plan.method == "lmkl") else grids, note


def run_search(plan, grids, splits, voice):
    """Return the fitted search, with its table of scores written."""
    from localmkl.model_selection import MKLSearchCV, OneStandardError, score_table
    from localmkl.model_selection.checkpoint import OtherSearch

    near = OneStandardError({"shared": 1.0 if plan.groups is None else HALF})
    search = MKLSearchCV(
        plan.estimator(),
        grids,
        scoring=scoring_of(plan),
        n_jobs=plan.jobs,
        refit=near if any("shared" in grid for grid in grids) else True,
        cv=splits,
        follow=[] if "C" in plan.grids else ["C"],
        checkpoint=str(plan.kept),
        random_state=plan.seed,
        verbose=int(not voice.quiet),
        error_score="raise",
    )
    if plan.force:
        plan.kept.unlink(missing_ok=True)
    begun = plan.kept.exists()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The search was interrupted")  # printed by `training`
            search.fit(plan.content.rows, plan.content.y, **plan.beside)
    except OtherSearch as error:
        raise ValueError(
            f"{str(plan.kept)!r} is of a search with other data or options; give that command again to "
            "finish it, choose another --out, or give --force to drop it."
        ) from error
    except (ValueError, TypeError):
        if not begun:  # it would only meet the same error again
            plan.kept.unlink(missing_ok=True)
        raise
    if search.interrupted_:
        raise KeyboardInterrupt
    if plan.table is not None:
        write_whole(plan.table, pd.DataFrame(score_table(search)).to_csv(index=False).encode())
    return search


def split(plan, n_folds):
    """Return folds that have rows of every class and, where there are enough, of every group; or None."""
    from sklearn.model_selection import KFold, StratifiedKFold

    content, alike = plan.content, None if plan.regression else plan.content.y.astype(str)
    labels, counts = np.unique(np.zeros(len(content.y)) if alike is None else alike, return_counts=True)
    rarest = int(counts.min())
    if rarest < 3:
        what = "The file" if alike is None else f"The class {str(labels[counts.argmin()])!r}"
        return None, f"{what} has {n_of(rarest, 'row')}, too few for cross-validation."
    n_folds = min(n_folds, rarest)
    if content.groups is not None:  # within each group its part of the classes, where these have enough rows
        groups = content.groups.astype(str)
        both = groups if alike is None else np.char.add(np.char.add(groups, " "), alike)
        alike = both if np.unique(both, return_counts=True)[1].min() >= n_folds else alike
    kind = KFold if alike is None else StratifiedKFold
    return list(kind(n_folds, shuffle=True, random_state=plan.seed).split(content.y, alike)), ""


def best_of(search, *, local):
    """Return the best candidate of a search with weights of groups or clusters, or with one set; or None."""
    results = search.cv_results_
    mine = [n for n, one in enumerate(results["params"]) if (one.get("shared", 0.0) != 1.0) == local]
    return results["params"][max(mine, key=lambda n: results["mean_test_score"][n])] if mine else None


def scoring_of(plan):
    """Return the metric: AUC for two classes, accuracy for more, R2 for numbers, errors for medians."""
    if plan.scoring is not None:
        return plan.scoring
    if plan.regression:
        return "neg_mean_absolute_error" if "quantile" in plan.grids.get("loss", ()) else "r2"
    return "roc_auc" if len(np.unique(plan.content.y)) == 2 else "accuracy"
