"""``--rank``: features in place of Grams, files read in pieces, and what is said of both."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from localmkl.cli import files, large, pieces
from localmkl.datasets import opening
from localmkl.estimators.factors import fit_on_features
from localmkl.kernels.features import lost_shares
from localmkl.persistence import load

FAILED, MISUSED = 1, 2
QUICK = ("--kernels", "linear; rbf:1,4", "--method", "mkl")


def fit(call, table, *options, **more):
    order = ("--target", "state", "--names", "id", "--rank", 20, *QUICK)
    return call("fit", table.train, *order, *options, **more)


def test_a_rank_that_cannot_be_had_is_refused_in_a_sentence(call, table, grams):
    said = call("fit", table.train, "--target", "state", "--rank", 500, code=FAILED)
    assert "--rank must be at most the number of training rows, got 500 for 90 rows" in said.err
    call("fit", grams.all, "--target", "disease", "--rank", 20, code=MISUSED)
    assert not (said.path / "model.localmkl").exists()


def test_a_file_too_large_for_the_memory_is_refused(call, table, monkeypatch):
    monkeypatch.setattr(opening, "available_memory", lambda: 0)
    said = call("fit", table.train, "--target", "state", code=FAILED)
    assert "too much for the memory that is left; keep fewer rows or columns" in said.err


# Files that are read in pieces

LARGE = 2_000


@pytest.fixture
def in_pieces(monkeypatch):
    """Let small files be large: pieces of some twenty rows, blocks of eight, a sample of sixty."""
    monkeypatch.setattr(files, "LARGE_BYTES", LARGE)
    monkeypatch.setattr(pieces, "PIECE_LETTERS", 8_000)
    monkeypatch.setattr(pieces, "SAMPLE_ROWS", 60)
    monkeypatch.setattr(large, "BLOCK_ROWS", 8)


def test_a_file_in_pieces_gives_the_model_of_its_features_and_keeps_landmarks_alone(call, table, in_pieces):
    said = fit(call, table, "--C", 1)
    model = load("model.localmkl")
    assert not hasattr(model, "rows_")
    assert len(model.features_.landmarks) == 20
    assert sorted(path.name for path in said.path.glob("model*")) == ["model.localmkl"]
    frame = pd.read_csv(table.train)
    rows = frame[model.feature_names_in_]
    lost = lost_shares(model.features_.transform(rows), model.features_.diagonals(rows), model.widths_)
    np.testing.assert_allclose(model.approximation_error_, lost, atol=1e-6)
    beside = fit_on_features(
        clone(model),
        rows,
        frame["state"],
        model.features_,
        model.features_.transform(rows),
        model.features_.diagonals(rows).sum(axis=1),
    )
    np.testing.assert_allclose(beside.decision_function(rows), model.decision_function(rows), atol=1e-9)


def test_predictions_of_pieces_are_those_of_the_whole(call, table, in_pieces, monkeypatch):
    fit(call, table)
    frame = pd.read_csv(table.train)
    frame.loc[[2, *range(30, 80)], "state"] = None  # all of some pieces
    frame.loc[40:50, "view0_0"] = None
    frame.to_csv("gaps.csv", index=False)
    frame.to_parquet("gaps.parquet", index=False)
    files_of = ("gaps.csv", "gaps.parquet")
    parts = [call("predict", "model.localmkl", file, "--out", f"{file}.pieces.csv") for file in files_of]
    monkeypatch.setattr(files, "LARGE_BYTES", 2**28)
    for file, part in zip(files_of, parts, strict=True):
        assert " on 39 of 90 rows" in part.err
        assert part.err == call("predict", "model.localmkl", file, "--out", f"{file}.whole.csv").err
        whole = pd.read_csv(f"{file}.whole.csv")
        pd.testing.assert_frame_equal(pd.read_csv(f"{file}.pieces.csv"), whole, atol=1e-6)


def test_a_stopped_command_leaves_no_features(call, table, in_pieces, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(large, "fit_on_features", stop)
    said = fit(call, table, code=130)
    assert not list(said.path.glob("model*"))


def test_a_word_in_a_late_piece_is_named_with_its_line_and_gaps_are_filled(call, table, in_pieces):
    lines = table.train.read_text().splitlines()
    fields = lines[85].split(",")
    lines[85] = ",".join([fields[0], "", *fields[2:]])
    table.train.write_text("\n".join(lines))
    fit(call, table)
    table.train.with_name("model.localmkl").unlink()
    lines[85] = ",".join([fields[0], "much", *fields[2:]])
    table.train.write_text("\n".join(lines))
    said = fit(call, table, code=FAILED)
    assert "line 86: the column 'view0_0' must hold numbers, got 'much'" in said.err
    assert not list(said.path.glob("model*"))


def test_a_label_missing_late_is_named_with_its_line_and_one_that_comes_late_is_learned(
    call, table, in_pieces
):
    text = table.train.read_text()
    table.train.write_text(text.rstrip().rsplit(",", 1)[0] + ",\n")
    assert "line 91: must have a value for target, 'state', got none" in fit(call, table, code=FAILED).err
    lines = text.splitlines()
    lines[-3:] = [line.rsplit(",", 1)[0] + ",late" for line in lines[-3:]]
    table.train.write_text("\n".join(lines))
    fit(call, table)
    assert load("model.localmkl").classes_.tolist() == ["late", "sick", "well"]


def test_a_full_disk_is_said_in_a_sentence(call, table, in_pieces, monkeypatch):
    def full(handle, size):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("localmkl._files._reserve", full)
        said = fit(call, table, code=FAILED)
    assert "'model.localmkl.features' cannot be" in said.err
    assert not list(said.path.glob("model*"))


def test_sequences_in_pieces_have_groups_classes_and_a_search_on_the_sample(
    call, fasta, in_pieces, monkeypatch
):
    monkeypatch.setattr(pieces, "PIECE_LETTERS", 1_000)
    text = fasta.train.read_text().replace(" label=", " strain=x kind=", 40)
    fasta.train.write_text(text.replace(" label=", " strain=y kind="))
    options = ("--kernels", "wd:1,2; spectrum:2", "--rank", 15, "--groups", "strain", "--target", "kind")
    said = call("fit", fasta.train, *options, "--tune", "--C", "1,3", "--p", 1, "--shared", 0.5)
    assert "60 of 90 rows" in said.err
    model = load("model.localmkl")
    assert model.dual_coef_.shape == (3, 90)
    assert model.gate_.labels.tolist() == ["x", "y"]
    call("predict", "model.localmkl", fasta.train, "--out", "p.csv")
    assert len(pd.read_csv("p.csv")) == 90


def test_two_fasta_files_in_pieces_are_two_classes(call, fasta, in_pieces):
    text = fasta.train.read_text()
    half = text.index(">", len(text) // 2)
    for name, part in (("a.fa", text[:half]), ("b.fa", text[half:])):
        fasta.train.with_name(name).write_text(part)
    call("fit", "--positive", "a.fa", "--negative", "b.fa", "--rank", 15, "--kernels", "wd:2")
    assert load("model.localmkl").classes_.tolist() == [-1, 1]


def test_a_parquet_file_in_pieces_gives_the_model_of_the_same_text(call, table, in_pieces, patients):
    patients[:90].to_parquet("train.parquet")
    models = []
    for train in (table.train, "train.parquet"):
        fit(call, SimpleNamespace(train=train), "--C", 1, "--force")
        models.append(load("model.localmkl"))
    rows = patients[90:][models[0].feature_names_in_]
    one, other = (model.decision_function(rows) for model in models)
    assert np.corrcoef(one, other)[0, 1] > 0.95  # other pieces, and so another sample


def test_a_sequence_that_is_wrong_is_named_by_its_row_in_the_file(call, fasta, in_pieces, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_LETTERS", 1_000)
    text = fasta.train.read_text()
    options = ("--kernels", "wd:2", "--rank", 15, "--method", "mkl")
    call("fit", fasta.train, *options)
    for row in (50, 88):
        records = text.split(">")
        records[row + 1] = "short label=N\nACGT\n"
        fasta.train.write_text(">".join(records))
        said = call("fit", fasta.train, *options, code=FAILED)
        assert f"got 4 in row {row}; cut or pad them" in said.err
    said = call("predict", "model.localmkl", fasta.train, "--out", "p.csv", code=FAILED)
    assert "got 4 in row " in said.err
    assert sorted(path.name for path in said.path.glob("[mp]*")) == ["model.localmkl"]
