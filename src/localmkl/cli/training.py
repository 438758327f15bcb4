"""``localmkl fit`` and ``localmkl tune``: options in, a model file and what is known of it out."""

import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial

import typer
from sklearn.base import clone

from localmkl.cli import tuning
from localmkl.cli.places import MODEL, SCORES, WORK, check_outputs
from localmkl.cli.plan import check_method, check_options, inputs_of, make_plan, positive_class
from localmkl.cli.record import model_record, model_text
from localmkl.cli.voice import INTERRUPTED
from localmkl.experiments.results import provenance
from localmkl.inference.heldout import held_out
from localmkl.persistence import write_model

ONE_MODEL = "one model for all"
"""What held-out answers call the model without clusters or groups."""

PATIENCE = 60.0
"""Seconds of a fit beyond which it is not repeated for each fold unless folds were asked for."""


def train(given, voice, *, quick):
    """Learn a model, judge it on rows that it has not seen, write it, and print what was found."""
    grids = check_options(given)
    check_method(given, grids)
    searching, n_folds = given.tune is not False, 5 if given.folds is None else given.folds
    if not searching or not n_folds:
        tuning.check_single(grids)
    plan = make_plan(given, grids, voice)
    _check_places(plan, searching)
    content = plan.content
    positive = None if plan.regression else positive_class(content.y, plan.positive_class)
    splits = None
    if n_folds:
        splits = tuning.split(
            content, n_folds, regression=plan.regression, seed=plan.seed, quick=quick or not searching
        )
    start = time.perf_counter()
    tried, note = tuning.grids_of(plan, quick=quick) if searching and splits else (None, "")
    if note:
        voice.note(note)
    with _until_written(plan.kept) if tried else nullcontext():
        model, search, work = _fit(plan, tried, splits, voice)
        seconds = time.perf_counter() - start
        if splits and plan.folds is None and search is None and seconds > PATIENCE:
            voice.note(
                f"Quality is not measured, which takes {n_folds} more fits; --folds {n_folds} asks for it."
            )
            splits = None
        held, groups = _judge(plan, model, search, splits, voice)
        model.made_ = _made(plan, content, positive, seconds, search, held, groups)
        for one in (model, getattr(model, "estimator", None)):
            if one is not None and "device" in one.get_params(deep=False):
                one.set_params(device="cpu")  # models are for every machine
        write_model(model, plan.out)
        if work is not None:
            work.finish()
    record = model_record(model, str(plan.out))
    _note_doubts(record, plan, voice)
    voice.result(record, model_text(record))


def _fit(plan, tried, splits, voice):
    """Return the fitted model, its search, and the fit on a large file; None where not needed."""
    content, search, work = plan.content, None, None
    settings = {} if tried else {name: values[0] for name, values in plan.grids.items()}
    estimator = plan.estimator(**settings)
    if content.whole is not None:
        from localmkl.cli.large import LargeFit

        work = LargeFit(plan, estimator, plan.chosen, voice)
    if tried:
        search = tuning.run_search(plan, estimator, tried, splits, voice)
        if work is None:
            return search.best_estimator_, search, None
        voice.note(f"Parameters were searched on {len(content):,} of {len(content.whole.y):,} rows.")
    if work is not None:
        return work.fit(content, None if search is None else search.best_params_), search, work
    with voice.counting(f"fitting {len(content)} rows"):
        return estimator.fit(content.rows, content.y, **tuning.groups_of(content)), None, None


def _judge(plan, model, search, splits, voice):
    """Return what folds show of a model, and the verdict on groups or clusters, where such were tried."""
    content = plan.content
    if splits is None or content.whole is not None:
        return None, None
    best = {} if search is None else tuning.best_of(search, local=False) or {}
    one_model = {name: best[name] for name in ("C", "p") if name in best}
    with voice.counting("judging") as show:
        judge = partial(
            held_out, X=content.rows, y=content.y, folds=splits, random_state=plan.seed, progress=show
        )
        judge = partial(judge, **tuning.groups_of(content))
        held = judge(model, one_model=one_model)
        if ONE_MODEL in held.rivals:
            found, score = held.difference(ONE_MODEL), held.score(ONE_MODEL)
            return held, _verdict("local", found, score)
        local = None if search is None else tuning.best_of(search, local=True)
        if local is None or getattr(model, "shared_", None) != 1.0:
            return held, None
        other = clone(model).set_params(**local)
        other.fit(content.rows, content.y, **tuning.groups_of(content))
        rival = judge(other, rivals=False)
    both = replace(rival, rivals={ONE_MODEL: held.decisions})
    return held, _verdict("one", both.difference(ONE_MODEL), rival.score(), local["shared"])


def _verdict(chosen, difference, score, shared=None):
    """Return what is stored of the comparison of local weights with one model for all."""
    values = {"difference": difference.value, "low": difference.low, "high": difference.high}
    return {"chosen": chosen, **values, "other": score.value, "other_shared": shared}


def _made(plan, content, positive, seconds, search, held, groups):
    """Return the record of how a model was made, which is written with it."""
    whole = content if content.whole is None else content.whole
    made = {
        **provenance(),
        "seconds": seconds,
        "file": ", ".join(map(str, content.paths)),
        "kind": content.kind,
        "kernel_names": plan.chosen.names,
        "unread": plan.chosen.unread,
        "target": plan.asked.target,
        "names_column": plan.asked.names,
        "groups_column": plan.asked.groups,
        "variable": plan.asked.variable,
        "header": plan.asked.header,
        "filled": {} if plan.given.impute == "none" else content.fills(),
        "left_out": content.left_out,
        "positive": positive,
        "rows": plan.rows,
        "y": whole.y,  # with the names, for a report of the training rows
        "names": content.names,
        "held_out": None if held is None else held.record(),
        "groups": groups,
        "search": None,
    }
    if search is not None:
        score = float(search.cv_results_["mean_test_score"][search.best_index_])
        made["search"] = {
            "metric": search.scoring,
            "score": score,
            "candidates": len(search.cv_results_["params"]),
            "chosen": dict(search.best_params_),
        }
    return made


def _note_doubts(record, plan, voice):
    """Print that classes are not balanced, or that a model predicts one of them alone."""
    counts = record["data"]["classes"]
    if not counts or plan.balanced:
        return
    rarest, most = min(counts, key=counts.get), max(counts, key=counts.get)
    if counts[most] > 5 * counts[rarest]:
        voice.note(
            f"The classes are not balanced: {counts[most]} rows of {most!r}, {counts[rarest]} of {rarest!r}. "
            "--balanced weighs them by how rare they are."
        )


def _check_places(plan, searching):
    """Raise unless all results can be written."""
    outputs = [("--out", plan.out, MODEL)]
    if plan.content.whole is not None:
        outputs.append(("the file of features", plan.features, WORK))
    if searching:
        outputs.append(("the file of finished work", plan.kept, WORK))
        if plan.table is not None:
            outputs.append(("--table", plan.table, SCORES))
    check_outputs(outputs, inputs_of(plan.given), force=plan.force)


@contextmanager
def _until_written(kept):
    """Keep the finished work of a search until its results are written; print how a stopped one goes on."""
    try:
        yield
    except KeyboardInterrupt:
        text = "Stopped before anything was finished."
        if kept.exists():
            text = f"Stopped; what is finished is kept in {str(kept)!r}: give the command again to go on."
        typer.echo(text, err=True)
        raise typer.Exit(INTERRUPTED) from None
    kept.unlink(missing_ok=True)
