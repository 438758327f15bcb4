"""``--rank``: features in place of Grams, files read in pieces, and what is said of both."""

import os
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from localmkl import _resources
from localmkl.cli import feature_file, files, pieces
from localmkl.datasets import opening
from localmkl.estimators.factors import fit_on_features
from localmkl.kernels.features import lost_shares
from localmkl.persistence import load

FAILED, MISUSED = 1, 2
QUICK = ("--kernels", "linear; rbf:1,4", "--method", "mkl")


def fit(call, table, *options, **more):
    order = ("--target", "state", "--names", "id", "--rank", 20, *QUICK)
    return call("fit", table.train, *order, *options, **more)


def test_a_fit_with_a_rank_says_what_its_features_lose_and_how_far_it_is_from_the_exact_optimum(call, table):
    fit(call, table, "--exact-gap")
    said = call("info", "model.localmkl")
    assert "rank 20: " in said.out
    assert "20 landmarks; lost of a kernel at most " in said.out
    assert " of the optimum of the exact problem" in said.out
    record = call("info", "model.localmkl", "--json").json()
    assert len(record["features"]["lost"]) == len(record["kernels"])
    assert 0.0 < max(record["features"]["lost"]) < 1.0
    assert 0.0 < record["made"]["exact_gap"]["gap"] < 1.0
    assert record["made"]["exact_gap"]["error"] == 0.0


def test_an_exact_gap_of_too_many_pairs_is_estimated(call, table, monkeypatch):
    monkeypatch.setattr("localmkl.cli.train.MOST_PAIRS", 500)
    said = fit(call, table, "--exact-gap")
    assert "give or take " in said.out


@pytest.mark.parametrize(
    "options, code, message",
    [
        (("--rank", 500), FAILED, "--rank must be at most the number of training rows, got 500 for 90 rows"),
        (("--rank", 20, "--method", "lmkl"), MISUSED, "--rank is not for the method lmkl"),
        (("--exact-gap",), MISUSED, "--exact-gap is for --rank"),
    ],
)
def test_a_rank_that_cannot_be_had_is_refused_in_a_sentence(call, table, options, code, message):
    said = call("fit", table.train, "--target", "state", *options, code=code)
    assert message in said.err
    assert not (said.path / "model.localmkl").exists()


def test_a_rank_is_refused_for_grams_and_suggested_where_grams_do_not_fit(call, table, grams, monkeypatch):
    said = call("fit", grams.all, "--target", "disease", "--rank", 20, code=MISUSED)
    assert "--rank is for tables and FASTA files" in said.err
    monkeypatch.setattr(_resources, "available_memory", lambda: 100_000)
    said = call("fit", table.train, "--target", "state", code=FAILED)
    assert "set --rank 200, or use fewer rows" in said.err
    monkeypatch.setattr(opening, "available_memory", lambda: -opening.CHUNK * opening.TEXT_SHARE)
    said = call("fit", table.train, "--target", "state", code=FAILED)
    assert "or give --rank 200 to read it in pieces" in said.err


# Files that are read in pieces

LARGE = 2_000


@pytest.fixture
def in_pieces(monkeypatch):
    """Let small files be large: pieces of some twenty rows, blocks of eight, a sample of sixty."""
    monkeypatch.setattr(files, "LARGE_BYTES", LARGE)
    monkeypatch.setattr(pieces, "PIECE_LETTERS", 8_000)
    monkeypatch.setattr(pieces, "SAMPLE_ROWS", 60)
    monkeypatch.setattr(feature_file, "BLOCK_ROWS", 8)


def test_a_file_in_pieces_gives_the_model_of_its_features_and_keeps_landmarks_alone(call, table, in_pieces):
    said = fit(call, table, "--C", 1)
    model = load("model.localmkl")
    assert "90 training rows" in said.out
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
    said = call("predict", "model.localmkl", table.train, "--out", "pieces.csv")
    assert "90 of which the model was trained on" in said.err
    told = pd.read_csv(StringIO(call("predict", "model.localmkl", table.train).out))
    records = call("predict", "model.localmkl", table.train, "--json").json()
    monkeypatch.setattr(files, "LARGE_BYTES", 2**28)
    again = call("predict", "model.localmkl", table.train, "--out", "whole.csv")
    assert said.err == again.err
    parts, whole = pd.read_csv("pieces.csv"), pd.read_csv("whole.csv")
    for other in (parts, told, pd.DataFrame(records)):
        pd.testing.assert_frame_equal(other, whole, atol=1e-9)


def test_rows_of_pieces_are_scored_where_others_have_no_label(call, table, fasta, in_pieces, monkeypatch):
    fit(call, table)
    frame = pd.read_csv(table.train)
    frame.loc[[2, *range(30, 80)], "state"] = None  # all of some pieces
    frame.to_csv("gaps.csv", index=False)
    frame.to_parquet("gaps.parquet", index=False)
    call("fit", fasta.train, "--method", "unif", "--out", "sites.localmkl", "--rank", 10)
    fasta.train.write_text(fasta.train.read_text().replace(" label=", " unlike ", 60))
    given = [("model", "gaps.csv", 39), ("model", "gaps.parquet", 39), ("sites", fasta.train, 30)]
    told = [call("predict", f"{model}.localmkl", file, "--out", "p.csv").err for model, file, _ in given]
    monkeypatch.setattr(files, "LARGE_BYTES", 2**28)
    for said, (model, file, count) in zip(told, given, strict=True):
        assert f" on {count} of 90 rows" in said
        assert said == call("predict", f"{model}.localmkl", file, "--out", "p.csv").err


def test_ctrl_c_keeps_the_features_and_the_same_command_goes_on(call, table, in_pieces, monkeypatch):
    with monkeypatch.context() as patched:
        write = feature_file.FeatureFile._write

        def stop(self, rows, out):
            if self.done >= 40:
                raise KeyboardInterrupt
            write(self, rows, out)

        patched.setattr(feature_file.FeatureFile, "_write", stop)
        said = fit(call, table, code=130)
    assert "Stopped; features of 42 of 90 rows are kept in 'model.localmkl.features'" in said.err
    assert not (said.path / "model.localmkl").exists()
    done = np.load(said.path / "model.localmkl.features")[:42]
    said = fit(call, table, "--keep-features")
    assert "Features of 42 of 90 rows are there already" in said.err
    np.testing.assert_array_equal(np.load(said.path / "model.localmkl.features")[:42], done)
    gone_on = load("model.localmkl")
    (said.path / "model.localmkl.features.json").unlink()
    assert "nothing says what it is" in fit(call, table, code=FAILED).err
    fit(call, table, "--force")
    anew = load("model.localmkl")
    np.testing.assert_array_equal(gone_on.dual_coef_, anew.dual_coef_)
    np.testing.assert_allclose(gone_on.approximation_error_, anew.approximation_error_, atol=1e-12)


def test_features_of_other_options_or_data_are_computed_anew_and_it_is_said_why(call, table, in_pieces):
    fit(call, table, "--keep-features", "--C", 1)
    assert "of 90 rows are there already" in fit(call, table, "--keep-features", "--C", 3).err
    assert "are of other options: they are" in fit(call, table, "--keep-features", "--seed", 1).err
    os.truncate("model.localmkl.features", 1000)
    assert "are of a file that is cut short" in fit(call, table, "--keep-features", "--seed", 1).err
    table.train.write_text(table.train.read_text() + "\n")
    assert "are of another state of the data: they are" in fit(call, table, "--seed", 1).err


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
    assert "line 91: must have a value in the target column 'state'" in fit(call, table, code=FAILED).err
    lines = text.splitlines()
    lines[-3:] = [line.rsplit(",", 1)[0] + ",late" for line in lines[-3:]]
    table.train.write_text("\n".join(lines))
    assert "classification of late, sick, well" in fit(call, table).out


def test_a_full_disk_or_a_file_that_changes_is_said_in_a_sentence(call, table, in_pieces, monkeypatch):
    def full(handle, size):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("localmkl._files._reserve", full)
        said = fit(call, table, code=FAILED)
    assert "'model.localmkl.features' cannot be written: the disk is full" in said.err
    read = pieces.read_pieces

    def growing(path, asked, **options):
        yield from read(path, asked, **options)
        with open(path, "a") as file:
            file.write("\n")

    monkeypatch.setattr(pieces, "read_pieces", growing)
    assert "has changed while it was read" in fit(call, table, code=FAILED).err
    assert not list(said.path.glob("model*"))


def test_sequences_in_pieces_have_groups_classes_and_a_search_on_the_sample(
    call, fasta, in_pieces, monkeypatch
):
    monkeypatch.setattr(pieces, "PIECE_LETTERS", 1_000)
    text = fasta.train.read_text().replace(" label=", " strain=x kind=", 40)
    fasta.train.write_text(text.replace(" label=", " strain=y kind="))
    options = ("--kernels", "wd:1,2; spectrum:2", "--rank", 15, "--groups", "strain", "--target", "kind")
    said = call("fit", fasta.train, *options, "--tune", "--C", "1,3", "--p", 1, "--shared", 0.5)
    assert "Parameters are searched on 60 of 90 rows" in said.err
    assert "best of 2" in said.out
    model = load("model.localmkl")
    assert model.best_estimator_.dual_coef_.shape == (3, 90)
    assert model.best_estimator_.gate_.labels.tolist() == ["x", "y"]
    said = call("predict", "model.localmkl", fasta.train, "--out", "p.csv")
    assert "90 of which the model was trained on" in said.err


def test_two_fasta_files_in_pieces_are_two_classes(call, fasta, in_pieces):
    text = fasta.train.read_text()
    half = text.index(">", len(text) // 2)
    for name, part in (("a.fa", text[:half]), ("b.fa", text[half:])):
        fasta.train.with_name(name).write_text(part)
    said = call(
        "fit", "--positive", "a.fa", "--negative", "b.fa", "--rank", 15, "--kernels", "wd:2", "--exact-gap"
    )
    assert "classification of -1, 1" in said.out
    assert "of the optimum of the exact problem" in said.out


@pytest.mark.parametrize(
    "options, message",
    [
        (("--gate", "linear"), "--gate must be the number of a kernel where a file is too large"),
        (("--unlabeled", "train.csv"), "--unlabeled does not go with --rank and a file that is too large"),
    ],
)
def test_what_needs_all_rows_at_once_is_refused_for_a_large_file(call, table, in_pieces, options, message):
    assert message in fit(call, table, "--method", "clmkl", *options, code=MISUSED).err


def test_a_parquet_file_in_pieces_and_a_report_of_its_model(call, table, in_pieces, patients, monkeypatch):
    patients[:90].to_parquet("train.parquet")
    fit(call, SimpleNamespace(train="train.parquet"), "--exact-gap")
    said = call("report", "model.localmkl", "--out", "bare.html")
    assert "keeps landmarks, not its training rows" in said.err
    call("report", "model.localmkl", table.test, "--folds", 0, "--no-baselines", "--out", "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert "which compare a sample with 20 landmarks" in page
    assert "on the exact kernels the objective is within" in page


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
