"""Finished work is never done twice, half-written work is never believed."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.model_selection import KFold

from localmkl import CLMKLClassifier, GramStack
from localmkl.kernels import RBF, Linear
from localmkl.model_selection import MKLSearchCV, cells, run
from localmkl.model_selection.checkpoint import fingerprint

GRID = {"C": [0.1, 1.0, 10.0], "evenness": [0.5, 0.7], "n_clusters": [1, 2], "n_init": [1, 2, 3, 4]}


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    return X, (X[:, 0] * X[:, 1] > 0.0).astype(int)


def search_of(path, grid=GRID, **options):
    model = CLMKLClassifier([RBF(), Linear()], n_clusters=2, random_state=0)
    folds = KFold(2, shuffle=True, random_state=0)
    return MKLSearchCV(model, grid, cv=folds, refit=False, checkpoint=path, **options)


def table(search):
    return np.stack([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)])


def counted_batches(monkeypatch):
    ran = []
    original = run.columns_of

    def again(job, context, fold, batch):
        ran.append((fold.number, batch))
        return original(job, context, fold, batch)

    monkeypatch.setattr(run, "columns_of", again)
    return ran


def test_a_finished_search_is_read_and_not_run(tmp_path, monkeypatch):
    X, y = data()
    ran = counted_batches(monkeypatch)
    first = search_of(tmp_path / "file").fit(X, y)
    n_batches = len(ran)
    second = search_of(tmp_path / "file").fit(X, y)
    assert n_batches == len(ran) > 2
    np.testing.assert_array_equal(table(first), table(second))
    np.testing.assert_array_equal(first.cv_results_["mean_fit_time"], second.cv_results_["mean_fit_time"])


@pytest.mark.parametrize("damage", ["cut", "flipped", "lost"])
def test_half_written_and_damaged_lines_are_run_again(damage, tmp_path, monkeypatch):
    X, y = data()
    path = tmp_path / "file"
    whole = search_of(path).fit(X, y)
    lines = path.read_bytes().splitlines(keepends=True)
    if damage == "cut":
        path.write_bytes(b"".join(lines)[:-30])
    elif damage == "flipped":
        lines[2] = lines[2].replace(b"0", b"1")
        path.write_bytes(b"".join(lines))
    else:
        path.write_bytes(b"".join(lines[:-1]))
    ran = counted_batches(monkeypatch)
    again = search_of(path).fit(X, y)
    assert len(ran) == 1
    np.testing.assert_array_equal(table(again), table(whole))
    search_of(path).fit(X, y)
    assert len(ran) == 1


def test_another_search_with_the_same_file_is_an_error_that_says_what_differs(tmp_path):
    X, y = data()
    path = tmp_path / "file"
    search_of(path, {"C": [0.1, 1.0]}).fit(X, y)
    content = path.read_bytes()
    with pytest.raises(ValueError, match=r"belongs to another search \(other candidates\); remove the file"):
        search_of(path, {"C": [0.1, 2.0]}).fit(X, y)
    with pytest.raises(ValueError, match=r"\(other rows, targets\)"):
        search_of(path, {"C": [0.1, 1.0]}).fit(*data(1))
    with pytest.raises(ValueError, match=r"\(other scoring\)"):
        search_of(path, {"C": [0.1, 1.0]}, scoring="roc_auc").fit(X, y)
    with pytest.raises(ValueError, match=r"\(other splits\)"):
        search_of(path, {"C": [0.1, 1.0]}).set_params(cv=KFold(2)).fit(X, y)
    with pytest.raises(ValueError, match=r"\(other estimator\)"):
        search_of(path, {"C": [0.1, 1.0]}).set_params(estimator__tol=1e-5).fit(X, y)
    assert path.read_bytes() == content
    path.write_text("something else\n")
    with pytest.raises(ValueError, match="must be a file of a search, or a new one"):
        search_of(path, {"C": [0.1, 1.0]}).fit(X, y)


def test_a_random_partition_is_taken_up_with_its_seed(tmp_path):
    X, y = data()
    path = tmp_path / "file"
    grid = {"C": [0.1, 1.0], "evenness": [0.5, 0.7], "n_init": [1, 2]}
    model = CLMKLClassifier([RBF(), Linear()])
    whole = MKLSearchCV(model, grid, cv=2, refit=False, checkpoint=path).fit(X, y)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))
    again = MKLSearchCV(model, grid, cv=2, refit=False, checkpoint=path).fit(X, y)
    np.testing.assert_array_equal(table(whole), table(again))


def test_a_stack_is_recognised_by_its_numbers(tmp_path):
    X, y = data()
    grams = np.stack([X @ X.T, (X @ X.T) ** 2])
    search = search_of(tmp_path / "file", {"C": [0.1, 1.0]}).set_params(estimator__kernels="precomputed")
    search.fit(GramStack(grams), y)
    search.fit(GramStack(grams.copy()), y)
    with pytest.raises(ValueError, match=r"\(other rows\)"):
        search.fit(GramStack(2.0 * grams), y)


def test_a_function_has_a_fingerprint_of_what_it_does():
    assert fingerprint([lambda x: x + 1]) == fingerprint([lambda x: x + 1])
    assert fingerprint([lambda x: x + 1]) != fingerprint([lambda x: x + 2])
    assert fingerprint(RBF(gamma=1.0)) == fingerprint(RBF(gamma=1.0)) != fingerprint(RBF(gamma=2.0))


SCRIPT = """
import signal, sys, time, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background may inherit deaf ears
sys.path.insert(0, {folder!r})
from localmkl.model_selection import cells
import test_checkpoint as tests

score = cells.score
def slow(*arguments):
    time.sleep(0.02)
    return score(*arguments)
cells.score = slow

if __name__ == "__main__":
    print("ready", flush=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = tests.search_of({path!r}, n_jobs={n_jobs}).fit(*tests.data())
    print(search.interrupted_, len(search.cv_results_["params"]))
"""


@pytest.mark.parametrize(
    "how, n_jobs",
    [
        ("SIGKILL", 1),
        pytest.param("SIGINT", 1, marks=pytest.mark.long),
        pytest.param("SIGINT", 2, marks=pytest.mark.long),
    ],
)
def test_a_search_stopped_at_a_random_moment_ends_with_the_same_table(how, n_jobs, tmp_path, monkeypatch):
    path = tmp_path / "file"
    whole = search_of(tmp_path / "other").fit(*data())
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=os.path.dirname(__file__), path=str(path), n_jobs=n_jobs))
    child = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    wanted = random.Random(how).randint(3, 8)
    while child.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < wanted):
        time.sleep(0.001)
    time.sleep(random.Random(how).uniform(0.0, 0.1))
    child.send_signal(getattr(signal, how))
    out = child.communicate(timeout=60)[0]
    lines = path.read_bytes().count(b"\n")
    total = len((tmp_path / "other").read_bytes().splitlines())
    assert 1 < lines < total
    if how == "SIGINT":
        interrupted, complete = out.split()
        assert interrupted == "True"
        assert 0 < int(complete) < len(whole.cv_results_["params"])
    ran = counted_batches(monkeypatch)
    again = search_of(path).fit(*data())
    assert 0 < len(ran) <= total - lines + 1  # the last line may be half of one
    np.testing.assert_array_equal(table(again), table(whole))


def test_ctrl_c_before_anything_is_complete_passes_on(monkeypatch):
    X, y = data()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cells, "score", interrupt)
    with pytest.raises(KeyboardInterrupt):
        search_of(None).fit(X, y)


def test_ctrl_c_returns_the_candidates_that_are_complete(monkeypatch):
    X, y = data()
    whole = search_of(None).fit(X, y)
    original, count = cells.score, iter(range(10**6))

    def interrupt(*arguments):
        if next(count) == 40:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(cells, "score", interrupt)
    with pytest.warns(UserWarning, match=r"was interrupted: \d+ of 48 candidates are complete"):
        search = search_of(None).fit(X, y)
    assert search.interrupted_
    known = {json.dumps(p): s for p, s in zip(whole.cv_results_["params"], table(whole).T, strict=True)}
    assert 0 < len(search.cv_results_["params"]) < 48
    for parameters, scores in zip(search.cv_results_["params"], table(search).T, strict=True):
        np.testing.assert_array_equal(scores, known[json.dumps(parameters)])
    assert search.best_params_ in search.cv_results_["params"]
