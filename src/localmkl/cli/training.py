"""``localmkl fit`` and ``localmkl tune``: options in, a model file and what is known of it out."""

import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import typer
from sklearn.base import clone

from localmkl.cli import tuning
from localmkl.cli.places import MODEL, SCORES, WORK, check_outputs
from localmkl.cli.plan import check_method, check_options, inputs_of, make_plan, positive_class
from localmkl.cli.record import model_record, model_text
from localmkl.cli.voice import OPTION_OF, Misuse
from localmkl.inference.heldout import held_out
from localmkl.persistence import write_model
from localmkl.provenance import provenance

ONE_MODEL = "one model for all"
"""The name of the model without clusters or groups in held-out answers."""


def train(given, voice, *, quick, patience=60.0):
    """Learn a model, judge it on rows that it has not seen, write it, and print what was found.

    A fit of more than `patience` seconds is repeated for folds only if these are asked for.
    """
    grids = check_options(given)
    check_method(given, grids)
    searching, n_folds = given.tune is not False, 5 if given.folds is None else given.folds
    listed = [OPTION_OF.get(name, name) for name, values in grids.items() if len(values) > 1]
    if listed and not (searching and n_folds):
        raise Misuse(f"--{listed[0]} has several values, from which only a search can choose.")
    plan = make_plan(given, grids, voice)
    outputs = [("--out", plan.out, MODEL), ("the file of finished work", plan.kept, WORK)]
    outputs += [] if plan.content.whole is None else [("the file of features", plan.features, WORK)]
    outputs += [] if plan.table is None else [("--table", plan.table, SCORES)]
    check_outputs(outputs, inputs_of(given), force=given.force)
    positive = None if plan.regression else positive_class(plan.content.y, plan.positive_class)
    splits, note = tuning.split(plan, n_folds) if n_folds else (None, "")
    tried, skipped = tuning.grids_of(plan, quick=quick) if searching and splits else (None, "")
    voice.note(*filter(None, (note, skipped)))
    start = time.perf_counter()
    with _until_written(plan.kept) if tried else nullcontext():
        model, search, work = _fit(plan, tried, splits, voice)
        seconds = time.perf_counter() - start
        if splits and plan.folds is None and search is None and seconds > patience:
            voice.note(
                f"Quality is not measured: {n_folds} more fits take long; --folds {n_folds} asks for it."
            )
            splits = None
        made = {**provenance(), "seconds": seconds, "positive": positive, **_made(plan, search)}
        model.made_ = made | _judge(plan, model, search, splits, voice)
        if plan.device != "cpu":
            model.set_params(device="cpu")  # models are for every machine
        write_model(model, plan.out)
        if work is not None:
            work.finish()
    record = model_record(model, str(plan.out))
    voice.result(record, model_text(record))


def _fit(plan, tried, splits, voice):
    """Return the fitted model, its search, and the fit on a large file; None where not needed."""
    content, search, work = plan.content, None, None
    estimator = plan.estimator(**({} if tried else {name: values[0] for name, values in plan.grids.items()}))
    if content.whole is not None:
        from localmkl.cli.large import LargeFit

        work = LargeFit(plan, estimator, plan.chosen, voice)
    if tried:
        search = tuning.run_search(plan, tried, splits, voice)
    if work is not None:
        if search is not None:
            voice.note(f"Parameters were searched on {len(content):,} of {len(content.whole.y):,} rows.")
        return work.fit(content, None if search is None else search.best_params_), search, work
    if search is not None:
        return search.best_estimator_, search, None
    with voice.counting(f"fitting {len(content)} rows"):
        return estimator.fit(content.rows, content.y, **plan.beside), None, None


def _judge(plan, model, search, splits, voice):
    """Return what folds show of a model, and of groups or clusters where such were tried."""
    if splits is None or plan.content.whole is not None:
        return {"held_out": None, "groups": None}
    X, y, found, local = plan.content.rows, plan.content.y, None, None
    best = {} if search is None else tuning.best_of(search, local=False) or {}
    one_model = {name: best[name] for name in ("C", "p") if name in best}
    if search is not None and getattr(model, "shared_", None) == 1.0:
        local = tuning.best_of(search, local=True)
    verdict = None if local is None else {"chosen": "one", "other_shared": local.get("shared")}
    with voice.counting("judging") as show:
        how = {"folds": splits, "random_state": plan.seed, "progress": show, **plan.beside}
        held = held_out(model, X, y, one_model=one_model, **how)
        if ONE_MODEL in held.rivals:
            found, other, verdict = held.difference(ONE_MODEL), held.score(ONE_MODEL), {"chosen": "local"}
        elif local is not None and plan.groups is not None:  # of clusters the search has seen enough
            rival = clone(model).set_params(**local).fit(X, y, **plan.beside)
            rival = held_out(rival, X, y, rivals=False, **how)
            found = replace(rival, rivals={ONE_MODEL: held.decisions}).difference(ONE_MODEL)
            other = rival.score()
    if verdict is not None and found is not None:
        verdict |= {"difference": found.value, "low": found.low, "high": found.high, "other": other.value}
    return {"held_out": held.record(), "groups": verdict}


def _made(plan, search):
    """Return how a model was made, which is written with it."""
    content, asked, tuned = plan.content, plan.asked, None
    if search is not None:
        scores = search.cv_results_["mean_test_score"].tolist()
        tried = [
            {**one, "score": score} for one, score in zip(search.cv_results_["params"], scores, strict=True)
        ]
        tuned = {"metric": search.scoring, "score": scores[search.best_index_], "candidates": len(tried)}
        tuned |= {"chosen": dict(search.best_params_), "tried": tried}
    return {
        "file": ", ".join(map(str, content.paths)),
        "kind": content.kind,
        "kernel_names": plan.chosen.names,
        "unread": plan.chosen.unread,
        "target": asked.target,
        "names_column": asked.names,
        "groups_column": asked.groups,
        "variable": asked.variable,
        "header": asked.header,
        "filled": {} if plan.impute == "none" else content.fills(),
        "left_out": plan.left_out,
        "rows": plan.sliced,
        "y": content.y if content.whole is None else content.whole.y,  # with the names, for a report
        "names": content.names,
        "search": tuned,
    }


@contextmanager
def _until_written(kept):
    """Keep the finished work of a search until its results are written; print how a stopped one goes on."""
    try:
        yield
    except KeyboardInterrupt:
        if kept.exists():
            typer.echo(
                f"What is finished is kept in {str(kept)!r}: give the command again to go on.", err=True
            )
        raise
    kept.unlink(missing_ok=True)
