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
from localmkl.cli.voice import Misuse, as_csv
from localmkl.inference import compare_methods
from localmkl.model_selection import MKLSearchCV

USUAL, MORE = ("unif", "mkl", "clmkl"), ("hlmkl", "lmkl", "one")
"""Methods that are always compared, and those that may be added."""

GROUPLESS = {"unif": {"shared": 1.0, "p": np.inf}, "mkl": {"shared": 1.0}}
"""What makes equal and single weights of a model with known groups, which reads their column."""


def compare(given, voice):
    """Compare methods as the options ask, and print and write what was found."""
    more = [] if given.also is None else [word.strip() for word in given.also.split(",")]
    for word in more:
        if word not in MORE:
            raise Misuse(
                f"--also must be hlmkl, lmkl or one, or some of them, got {word!r}{meant(word, MORE)}"
            )
    given.method = "clmkl"
    grids = check_options(given)
    if given.out is not None:
        check_outputs([("--out", given.out, COMPARISON)], inputs_of(given), force=given.force)
    plan = make_plan(given, grids, voice)
    if plan.content.whole is not None or ("one" in more and plan.chosen.kernels == "precomputed"):
        raise ValueError(
            f"{str(plan.content.path)!r} is too large, or holds kernel matrices without their rows."
        )
    rarest, what = tuning.rarest_of(plan.content, plan.regression)
    if rarest < 5:
        raise ValueError(f"{what} has {rarest} rows, too few to hold some out: at least 5 are needed.")
    scoring = tuning.scoring_of(plan)
    voice.note(f"Comparing by {scoring} on {plan.splits} random splits.")
    found = compare_methods(
        {name.upper(): _rival(plan, name, scoring, rarest) for name in (*USUAL, *more)},
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


def _rival(plan, name, scoring, rarest):
    """Return the unfitted model of a method, or a search where a parameter has several values."""
    from sklearn.model_selection import KFold, StratifiedKFold

    word = "unif" if name == "one" else name
    fixed = GROUPLESS.get(word, {}) if plan.groups is not None else {}
    given = copy(plan.given)
    given.method = "clmkl" if fixed else word
    own = class_of(given.method, given.regression)().get_params(deep=False)
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
        head = ("method", "metric", "score", "difference", "low", "high", "p_value", "splits")
        write_whole(out, as_csv(head, [[{**named, **row}[name] for name in head] for row in rows]).encode())
    lines = [f"{'method':<8} {metric:<8} minus MKL, 90 % interval     p"]
    for row in rows:
        line = f"{row['method']:<8} {row['score']:<8.3f}"
        if row["difference"] is not None:
            ends = f"({row['low']:+.3f} to {row['high']:+.3f})"
            line += f" {row['difference']:+.3f} {ends}    {row['p_value']:.3f}"
        lines.append(line.rstrip())
    verdict = verdict_on(found, metric)
    record = {**named, "methods": rows, "verdict": verdict}
    record["scores"] = dict(zip(found.methods, found.scores.T.tolist(), strict=True))
    voice.result(record, "\n".join([*lines, verdict]))


def verdict_on(found, metric):
    """Return a sentence that says whether local weights are worth it, and one where a single kernel is.

    Parameters
    ----------
    found : Comparison
    metric : str
        What the score is called.
    """
    texts = []
    for name, what in (("CLMKL", "Local weights"), ("ONE", "The best single kernel")):
        if name in found.methods:
            place = found.methods.index(name)
            difference, low, high = (float(one[place]) for one in (found.difference, found.low, found.high))
            word = "better" if difference > 0.0 else "worse"
            doubt = "" if low > 0.0 or high < 0.0 else ", which may be chance"
            size = f"{abs(difference):.3f} {metric} (90 % interval {low:+.3f} to {high:+.3f})"
            texts.append(f"{what}: {word} than MKL by {size}{doubt}.")
    return " ".join(texts)
