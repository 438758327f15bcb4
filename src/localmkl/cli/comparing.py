"""``localmkl compare``: methods on shared splits, one table, and one sentence on local weights."""

from copy import copy
from dataclasses import replace

import numpy as np

from localmkl._files import write_whole
from localmkl._spelling import meant
from localmkl.cli import tuning
from localmkl.cli.places import COMPARISON, check_outputs
from localmkl.cli.plan import check_options, class_of, inputs_of, make_plan
from localmkl.cli.record import METRICS
from localmkl.cli.voice import OPTIONS, Misuse, as_csv
from localmkl.inference import compare_methods
from localmkl.model_selection import MKLSearchCV
from localmkl.stacks import Stack
from localmkl.views import Views

USUAL, MORE = ("unif", "mkl", "clmkl"), ("hlmkl", "lmkl", "one")
"""Methods that are always compared, and those that may be added."""

FEWEST = 5
"""Rows of the smallest class from which on a fifth of them is a row; of numbers, twice as many rows."""

GROUPLESS = {"unif": {"shared": 1.0, "p": np.inf}, "mkl": {"shared": 1.0}}
"""What makes equal and single weights of a model with known groups, which reads their column."""

HEAD = ("method", "metric", "score", "difference", "low", "high", "p_value", "splits")


def compare(given, voice):
    """Compare methods as the options ask, and print and write what was found."""
    more = [] if given.also is None else [word.strip() for word in given.also.split(",")]
    for word in more:
        if word not in MORE:
            raise Misuse(
                f"--also must be hlmkl, lmkl or one, or some of them, got {word!r}{meant(word, MORE)}"
            )
    given.method = "lmkl" if "lmkl" in more else "clmkl"
    grids = check_options(given)
    if given.out is not None:
        check_outputs([("--out", given.out, COMPARISON)], inputs_of(given), force=given.force)
    methods = [*USUAL, *(name for name in MORE if name in more)]
    _check_known(given, grids, methods)
    plan = make_plan(given, grids, voice)
    if plan.content.whole is not None:
        raise ValueError(
            f"{str(plan.content.path)!r} is too large to be compared on; give fewer of its rows."
        )
    if "one" in methods:
        _check_single(plan.content.rows)
    rarest, what = tuning.rarest_of(plan.content, plan.regression)
    least = 2 * FEWEST if plan.regression else FEWEST
    if rarest < least:
        raise ValueError(f"{what} has {rarest} rows, too few to hold some out: at least {least} are needed.")
    scoring = tuning.scoring_of(plan.scoring, plan.content, plan.regression, grids)
    voice.note(f"Comparing by {scoring} on {plan.splits} random splits.")
    found = compare_methods(
        {name.upper(): _rival(plan, name, scoring, rarest) for name in methods},
        plan.content.rows,
        plan.content.y,
        reference="MKL",
        n_splits=plan.splits,
        scoring=scoring,
        n_jobs=plan.jobs,
        random_state=plan.seed,
        verbose=int(not voice.quiet),
        **tuning.groups_of(plan.content),
    )
    if found.interrupted:
        raise KeyboardInterrupt
    if not np.isfinite(found.scores).all():
        raise ValueError(f"{scoring} is not defined on some of the splits; choose another --scoring.")
    _print(found, given.out, voice)


def _check_known(given, grids, methods):
    """Raise if none of the methods has a parameter that is given."""
    known = {name for method in methods for name in class_of(_kind(method), given.regression)().get_params()}
    for name in (*grids, *(["class_weight"] if given.balanced else [])):
        if name not in known:
            task = "regression" if given.regression else "classification"
            raise Misuse(f"--{OPTIONS.get(name, name)} is not for {task} with these methods.")


def _kind(name):
    """Return the method that a word stands for: a single kernel is equal weights of no other."""
    return "unif" if name == "one" else name


def _check_single(rows):
    """Raise unless each kernel can be taken alone."""
    if isinstance(rows, Stack):
        raise Misuse(
            "--also one chooses among kernels of tables, texts or sequences, not among kernel matrices."
        )
    if isinstance(rows, Views) and (lacking := int(np.sum(rows.share(rows.names) < 1.0))):
        raise ValueError(
            f"--also one needs samples that have every view, {lacking} of {len(rows)} have not; leave them "
            "out, or do without it."
        )


def _rival(plan, name, scoring, rarest):
    """Return the unfitted model of a method, or a search where a parameter has several values."""
    from sklearn.model_selection import KFold, StratifiedKFold

    by_groups = plan.groups is not None and _kind(name) in GROUPLESS
    given = copy(plan.given)
    given.method = "clmkl" if by_groups else _kind(name)
    own = class_of(given.method, given.regression)().get_params(deep=False)
    fixed = GROUPLESS[_kind(name)] if by_groups else {}
    grids = {option: values for option, values in plan.grids.items() if option in own and option not in fixed}
    chosen = plan.chosen if "gate_kernel" in own else replace(plan.chosen, gate=None)
    settings = {option: values[0] for option, values in grids.items()} | fixed
    model = replace(plan, given=given, chosen=chosen).estimator(**settings)
    grid = {option: values for option, values in grids.items() if len(values) > 1}
    if name == "one":
        grid["kernels"] = [[kernel] for kernel in plan.chosen.kernels]
    if not grid:
        return model
    tuning.check_pairs(grids)
    kind = KFold if plan.regression else StratifiedKFold
    folds = kind(max(2, min(5, int(0.8 * rarest))), shuffle=True, random_state=plan.seed)
    return MKLSearchCV(model, grid, scoring=scoring, cv=folds, random_state=plan.seed, error_score="raise")


def _print(found, out, voice):
    """Print the table and a sentence, and write the table if a file is wanted."""
    metric, rows = METRICS.get(found.scoring, found.scoring), found.rows()
    named = {"metric": found.scoring, "splits": len(found.scores)}
    if out is not None:
        write_whole(out, as_csv(HEAD, [[{**named, **row}[name] for name in HEAD] for row in rows]).encode())
    verdict = verdict_on(found, metric)
    record = {**named, "methods": rows, "verdict": verdict}
    record["scores"] = dict(zip(found.methods, found.scores.T.tolist(), strict=True))
    lines = [("method", metric, "minus MKL", "90 % interval", "p")]
    for row in rows:
        others = ("", "", "")
        if row["difference"] is not None:
            p_value = f"{row['p_value']:.3f}" if row["p_value"] >= 0.0005 else "< 0.001"
            others = (f"{row['difference']:+.3f}", f"{row['low']:+.3f} to {row['high']:+.3f}", p_value)
        lines.append((row["method"], f"{row['score']:.3f}", *others))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    voice.result(record, "\n".join([*table, verdict]))
    if out is not None:
        voice.note(f"Written: {out}")


def verdict_on(found, metric):
    """Return a sentence that says whether local weights are worth it, and one where a single kernel is.

    Parameters
    ----------
    found : Comparison
    metric : str
        What the score is called.
    """

    def compared(name):
        place = found.methods.index(name)
        difference, low, high = (float(one[place]) for one in (found.difference, found.low, found.high))
        return (
            difference,
            low,
            high,
            f"by {abs(difference):.3f} {metric} (90 % interval {low:+.3f} to {high:+.3f})",
        )

    difference, low, high, how = compared("CLMKL")
    if low > 0.0:
        text = f"Local weights are worth it here: CLMKL is better than MKL {how}."
    elif high < 0.0:
        text = f"Local weights are not worth it here: CLMKL is worse than MKL {how}."
    else:
        word = "better" if difference > 0 else "worse"
        text = f"Local weights are perhaps not worth it: CLMKL is {word} than MKL {how}; this may be chance."
    if "ONE" in found.methods and compared("ONE")[1] > 0.0:
        text += f" The best single kernel is better than MKL {compared('ONE')[3]}."
    return text
