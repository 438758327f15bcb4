"""``localmkl compare``: methods on shared splits, one table, one figure, and one sentence on locality."""

import io
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

import localmkl
from localmkl._files import write_whole
from localmkl.cli import tuning
from localmkl.cli.places import COMPARISON, FIGURE, FIGURE_MARK, check_outputs
from localmkl.cli.train import kind_of_estimator, make_estimator, prepare
from localmkl.cli.voice import Misuse, as_csv
from localmkl.cli.words import METHODS, OPTIONS
from localmkl.estimators.convex import LocalMKL
from localmkl.inference import compare_methods
from localmkl.inference.splits import TEST_SHARE
from localmkl.model_selection import MKLSearchCV
from localmkl.stacks import Stack
from localmkl.views import Views

USUAL = ("unif", "mkl", "clmkl")
"""Methods that are always compared: equal weights, the same weights everywhere, and local ones."""
GLOBAL, LOCAL, ALONE = "MKL", "CLMKL", "ONE"
FEWEST = 5
"""Rows of the smallest class from which on a fifth of them is a row; of numbers, twice as many rows."""
NOT_COMMON = {"unif": ("p", "shared", "n_clusters", "evenness"), "mkl": ("shared", "n_clusters", "evenness")}
"""Parameters that make UNIF and MKL of a model with known groups, which reads their column."""
HEAD = ("method", "metric", "score", "difference", "low", "high", "p_value", "splits")


@dataclass(frozen=True)
class Contest:
    """The options of a comparison that are not those of a fit.

    Attributes
    ----------
    more : list of str
        Methods beside the usual three.
    splits : int
    scoring : str or None
    jobs : int or None
    table, figure : Path or None
        Files to write.
    """

    more: list
    splits: int
    scoring: str | None
    jobs: int | None
    table: Path | None
    figure: Path | None


def compare_by(order, voice, contest):
    """Compare methods as the options ask, and say and write what was found."""
    _check_places(order, contest)
    if contest.figure is not None:
        _check_extra()
    methods = [*USUAL, *contest.more]
    orders = _orders(order, methods)
    if order.content.whole is not None:
        raise ValueError(
            f"{str(order.content.path)!r} is too large to be compared on; give a file with fewer of its rows."
        )
    content, chosen, _ = prepare(order, voice)
    if ALONE.lower() in methods:
        _check_alone(content.rows)
    rarest, what = tuning.rarest_of(content, order.regression)
    least = 2 * FEWEST if order.regression else FEWEST
    if rarest < least:
        raise ValueError(f"{what} has {rarest} rows, too few to hold some out: at least {least} are needed.")
    scoring = contest.scoring or tuning.default_scoring(content, order.regression, [order.grids])
    tuning.check_scoring_option(scoring)
    folds = max(2, min(tuning.FOLDS, int((1.0 - TEST_SHARE) * rarest)))
    models = {
        name.upper(): _rival(own, name, chosen, scoring, folds)
        for name, own in zip(methods, orders, strict=True)
    }
    voice.note(_said(order, models, contest.splits, scoring))
    found = compare_methods(
        models,
        content.rows,
        content.y,
        reference=GLOBAL,
        n_splits=contest.splits,
        scoring=scoring,
        n_jobs=contest.jobs,
        random_state=order.seed,
        verbose=int(not voice.quiet),
        **tuning.groups_beside(content),
    )
    if found.interrupted:
        raise KeyboardInterrupt
    if not np.isfinite(found.scores).all():
        raise ValueError(f"{scoring} is not defined on some of the splits; choose another --scoring.")
    _tell(found, contest, voice)


def _check_alone(rows):
    """Raise unless each kernel can be taken by itself."""
    if isinstance(rows, Stack):
        raise Misuse(
            "--also one chooses among kernels of tables, texts or sequences, not among Gram matrices."
        )
    if isinstance(rows, Views) and (lacking := int(np.sum(rows.share(rows.names) < 1.0))):
        raise ValueError(
            f"--also one needs samples that have every view, {lacking} of {len(rows)} have not; leave them "
            "out, or do without it."
        )


def _check_extra():
    """Raise if pictures cannot be drawn, before the work."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "--figure needs matplotlib, which is not installed; install the extra `localmkl[plots]`."
        ) from error


def _check_places(order, contest):
    named = (("--out", contest.table, COMPARISON), ("--figure", contest.figure, FIGURE))
    outputs = [one for one in named if one[1] is not None]
    check_outputs(outputs, order.inputs, force=order.force)


def _orders(order, methods):
    """Return the order of each method, with what it has of the options; raise if none has one of them."""
    suffix = "Regressor" if order.regression else "Classifier"
    kinds = {name: getattr(localmkl, METHODS[name] + suffix) for name in map(_kind, methods)}
    known = {name: set(kind().get_params(deep=False)) for name, kind in kinds.items()}
    asked = [*order.grids, *(["class_weight"] if order.balanced else [])]
    for option in asked:
        if not any(option in own for own in known.values()):
            task = "regression" if order.regression else "classification"
            raise Misuse(f"--{OPTIONS.get(option, option)} is not for {task} with these methods.")
    found = []
    for name in map(_kind, methods):
        local = issubclass(kinds[name], LocalMKL)
        by_groups = order.asked.groups is not None and name in NOT_COMMON
        own = known["clmkl"] - set(NOT_COMMON[name]) if by_groups else known[name]
        changed = replace(
            order,
            method="clmkl" if by_groups else name,
            grids={option: values for option, values in order.grids.items() if option in own},
            gate=order.gate if "gate_kernel" in own else None,
            clustering=order.clustering if local or by_groups else None,
        )
        kind_of_estimator(changed, changed.grids)
        found.append(changed)
    return found


def _kind(name):
    """Return the method that a word stands for: a kernel by itself is UNIF with no other."""
    return "unif" if name.upper() == ALONE else name


def _rival(order, name, chosen, scoring, folds):
    """Return the unfitted model of a method, or a search where a parameter has several values."""
    kind, name, alone = kind_of_estimator(order, order.grids), _kind(name), name.upper() == ALONE
    settings = {option: values[0] for option, values in order.grids.items()}
    model = make_estimator(kind, order, chosen, settings)
    if order.asked.groups is not None and name in NOT_COMMON:
        model.set_params(shared=1.0, **({"p": np.inf} if name == "unif" else {}))
    grid = {option: values for option, values in order.grids.items() if len(values) > 1}
    if alone:
        grid["kernels"] = [[kernel] for kernel in model.kernels]
    if not grid:
        return model
    tuning.check_pairs([order.grids], kind().get_params(deep=False))
    kind_of_folds = StratifiedKFold if is_classifier(model) else KFold
    return MKLSearchCV(
        model,
        grid,
        scoring=scoring,
        cv=kind_of_folds(folds, shuffle=True, random_state=order.seed),
        random_state=order.seed,
        error_score="raise",
    )


def _said(order, models, n_splits, scoring):
    """Return a sentence on what is compared, and by which parameters."""
    lists = {name: values for name, values in order.grids.items() if len(values) > 1}
    if lists:
        tried = "; ".join(f"{name} {', '.join(map(tuning.shown, values))}" for name, values in lists.items())
        how = f"each method chooses its own within the training rows, of {tried}"
    else:
        model = models[LOCAL]
        how = f"all with C {tuning.shown(model.C)}, and p {tuning.shown(model.p)} but for UNIF"
    alone = (
        f"; {ALONE} is the kernel that is best by itself within the training rows" if ALONE in models else ""
    )
    return f"Comparing by {scoring} on {n_splits} random splits; {how}{alone}."


def _tell(found, contest, voice):
    """Write the files that are asked for, and say the table and the sentence."""
    metric, n_splits = tuning.CALLED.get(found.scoring, found.scoring), len(found.scores)
    rows = found.rows()
    verdict = verdict_on(found, metric) + _on_one(found, metric)
    if contest.table is not None:
        lines = [
            [{"metric": found.scoring, "splits": n_splits, **row}[name] for name in HEAD] for row in rows
        ]
        write_whole(contest.table, as_csv(HEAD, lines).encode())
    if contest.figure is not None:
        write_whole(contest.figure, _picture(found, metric, contest.figure.suffix.lower()[1:]))
    record = {"metric": found.scoring, "splits": n_splits, "methods": rows, "verdict": verdict}
    record["scores"] = dict(zip(found.methods, found.scores.T.tolist(), strict=True))
    voice.result(record, f"{_as_text(rows, metric)}\n{verdict}")
    for path in filter(None, (contest.table, contest.figure)):
        voice.note(f"Written: {path}")


def _as_text(rows, metric):
    """Return the table as text, in columns."""
    lines = [("method", metric, f"minus {GLOBAL}", "90 % interval", "p")]
    for row in rows:
        others = ("", "", "")
        if row["difference"] is not None:
            ends = f"{row['low']:+.3f} to {row['high']:+.3f}"
            p_value = f"{row['p_value']:.3f}" if row["p_value"] >= 0.0005 else "< 0.001"
            others = (f"{row['difference']:+.3f}", ends, p_value)
        lines.append((row["method"], f"{row['score']:.3f}", *others))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def verdict_on(found, metric):
    """Return a sentence that says whether locality is worth it.

    Parameters
    ----------
    found : Comparison
    metric : str
        What the score is called.
    """
    place = found.methods.index(LOCAL)
    difference, low, high = (float(column[place]) for column in (found.difference, found.low, found.high))
    ends = f"90 % interval {low:+.3f} to {high:+.3f}"
    if low > 0.0:
        return (
            f"Locality is worth it here: {LOCAL} is better than {GLOBAL} by {difference:.3f} {metric} "
            f"({ends})."
        )
    if high < 0.0:
        return (
            f"Locality is not worth it here: {LOCAL} is worse than {GLOBAL} by {-difference:.3f} {metric} "
            f"({ends})."
        )
    return (
        f"Locality is not shown to be worth it here: {LOCAL} minus {GLOBAL} is {difference:+.3f} {metric} "
        f"({ends}), which may be chance."
    )


def _on_one(found, metric):
    """Return a sentence where one kernel is better than all of them together, or nothing."""
    place = found.methods.index(ALONE) if ALONE in found.methods else None
    if place is None or not found.low[place] > 0.0:
        return ""
    ends = f"90 % interval {found.low[place]:+.3f} to {found.high[place]:+.3f}"
    return (
        f" One kernel by itself is better than {GLOBAL} by {found.difference[place]:.3f} {metric} ({ends})."
    )


def _picture(found, metric, kind):
    """Return the figure as the content of a file."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from localmkl.plots import plot_comparison

    file = io.BytesIO()
    figure = Figure(figsize=(6.4, 1.2 + 0.5 * len(found.methods)), layout="constrained")
    plot_comparison(found, metric=metric, ax=figure.subplots())
    metadata = {"Software": FIGURE_MARK} if kind == "png" else {"Creator": FIGURE_MARK, "Date": None}
    with rc_context({"svg.hashsalt": FIGURE_MARK}):  # the same ids in every run
        figure.savefig(file, format=kind, dpi=150, metadata=metadata)
    return file.getvalue()
