"""``localmkl compare``: methods on shared splits, one table, and one sentence on local weights."""

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd

from localmkl._files import write_whole
from localmkl._spelling import meant
from localmkl.cli import tuning
from localmkl.cli.places import COMPARISON, check_outputs
from localmkl.cli.plan import check_options, class_of, inputs_of, make_plan
from localmkl.cli.record import METRICS
from localmkl.cli.voice import Misuse
from localmkl.inference import compare_methods
from localmkl.model_selection import MKLSearchCV

METHODS = {"unif": {"shared": 1.0, "p": np.inf}, "mkl": {"shared": 1.0}, "clmkl": {}}
"""Methods that are always compared, and what makes them of a model with known groups."""

MORE = ("hlmkl", "lmkl", "one")


def compare(given, voice):
    """Compare methods as the options ask, and print and write what was found."""
    more = [] if given.also is None else [word.strip() for word in given.also.split(",")]
    for word in more:
        if word not in MORE:
            raise Misuse(
                f"--also must be hlmkl, lmkl or one, or some of them, got {word!r}{meant(word, MORE)}"
            )
    grids = check_options(given)
    if given.out is not None:
        check_outputs([("--out", given.out, COMPARISON)], inputs_of(given), force=given.force)
    plan = make_plan(given, grids, voice)
    if plan.content.whole is not None or ("one" in more and plan.chosen.names is None):
        raise ValueError(
            f"{str(plan.content.path)!r} is too large, or holds kernel matrices without their rows."
        )
    scoring = tuning.scoring_of(plan)
    voice.note(f"Comparing by {scoring} on {plan.splits} random splits.")
    found = compare_methods(
        {name.upper(): _rival(plan, name, scoring) for name in (*METHODS, *more)},
        plan.content.rows,
        plan.content.y,
        reference="MKL",
        n_splits=plan.splits,
        scoring=scoring,
        n_jobs=plan.jobs,
        random_state=plan.seed,
        verbose=int(not voice.quiet),
        **plan.beside,
    )
    if found.interrupted:
        raise KeyboardInterrupt
    table, verdict = pd.DataFrame(found.rows()), verdict_on(found, METRICS.get(scoring, scoring))
    if given.out is not None:
        named = table.assign(metric=scoring, splits=len(found.scores))
        write_whole(given.out, named.to_csv(index=False, float_format="%.6g").encode())
    record = {"metric": scoring, "splits": len(found.scores), "methods": found.rows(), "verdict": verdict}
    record["scores"] = dict(zip(found.methods, found.scores.T.tolist(), strict=True))
    shown = table.round(3).assign(
        p_value=["< 0.001" if p < 0.0005 else f"{p:.3f}" for p in table["p_value"].fillna(1.0)]
    )
    voice.result(record, f"{shown.to_string(index=False, na_rep='')}\n{verdict}")


def _rival(plan, name, scoring):
    """Return the unfitted model of a method, or a search where a parameter has several values."""
    word = "unif" if name == "one" else name
    fixed = METHODS.get(word, {}) if plan.groups is not None else {}
    given = copy(plan.given)
    given.method = "clmkl" if fixed else word
    own = class_of(given.method, given.regression)().get_params(deep=False)
    grids = {option: values for option, values in plan.grids.items() if option in own and option not in fixed}
    chosen = plan.chosen if "gate_kernel" in own else replace(plan.chosen, gate=None)
    settings = {option: values[0] for option, values in grids.items()} | fixed
    model = replace(plan, given=given, chosen=chosen).estimator(**settings)
    grid = {option: values for option, values in grids.items() if len(values) > 1}
    grid |= {"kernels": [[kernel] for kernel in plan.chosen.kernels]} if name == "one" else {}
    if not grid:
        return model
    return MKLSearchCV(model, grid, scoring=scoring, random_state=plan.seed, error_score="raise")


def verdict_on(found, metric):
    """Return a sentence on local weights, and one on the best single kernel where that was tried.

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
