"""Whatever is wrong: one sentence on stderr, no traceback, an exit code, and nothing written."""

import os
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

from localmkl.cli.voice import Voice

FAILED, MISUSED = 1, 2


def refused(call, *arguments, code, out="model.localmkl"):
    """Run a command that must fail; return its one sentence."""
    said = call(*arguments, code=code)
    *_, error = said.err.splitlines()
    assert error.startswith("Error: "), said.err
    assert error.endswith((".", "?"))
    assert said.out == ""
    assert not (said.path / out).exists()
    assert not list(said.path.glob(f".{out}*"))
    return error


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--target", "stat"], FAILED, "must have the column 'stat', it has id, view0_0"),
        ([], MISUSED, "--target must name a column"),
        (
            ["--target", "state", "--kernels", "rfb"],
            FAILED,
            "The kernel 'rfb' is not known; did you mean 'rbf'?",
        ),
        (["--target", "state", "--kernels", "rbf gama=1"], FAILED, "has no parameter 'gama'; it has gamma, "),
        (["--target", "state", "--kernels", "rbf columns=zz*"], FAILED, "has no column 'zz*'"),
        (
            ["--target", "state", "--kernels", "wd:3 column=no"],
            FAILED,
            "has no column 'no' for the kernel 'wd'",
        ),
        (["--target", "state", "--kernels", "linear:3"], FAILED, "takes no values after a colon"),
        (["--target", "state", "--kernels", "wd:9-2"], FAILED, "must run upwards, got '9-2'"),
        (["--target", "state", "--kernels", "rbf nonsense"], FAILED, "has no parameter 'nonsense'"),
        (["--target", "state", "--kernels", "  "], FAILED, "got an empty text"),
        (["--target", "state", "--names", "nobody"], FAILED, "must have the column 'nobody'"),
        (["--target", "state", "--labels", "l.txt"], MISUSED, "--labels is for FASTA and Gram files"),
        (["--target", "state", "--rows", "0:9"], MISUSED, "--rows is for files of kernel matrices"),
        (
            ["--target", "state", "--method", "mkl", "--clusters", 2],
            MISUSED,
            "--clusters is not for classification",
        ),
        (["--target", "state", "--method", "unif", "--gate", 1], MISUSED, "--gate is not for"),
        (["--target", "view0_0", "--regression", "--balanced"], MISUSED, "--balanced is not for regression"),
        (["--target", "state", "--gate", 0], MISUSED, "kernels, from 1, got 0"),
        (
            ["--target", "state", "--gate", 99],
            MISUSED,
            "kernels, from 1, got 99",
        ),
        (["--target", "id"], FAILED, "got 90 different values in 90 rows"),
        (["--target", "state", "--groups", "town"], FAILED, "must have the column 'town'"),
        (
            ["--target", "state", "--groups", "id"],
            FAILED,
            "with several rows each; 'id' has 90 in 90 rows",
        ),
        (
            ["--target", "state", "--groups", "city"],
            FAILED,
            "'city' has 1 in 90 rows (Ulm)",
        ),
        (["--target", "state", "--groups", "state"], MISUSED, "--groups must not be the target, 'state'"),
        (["--target", "id", "--names", "id"], MISUSED, "--names must not be the target, 'id'"),
        (
            ["new.csv", "--target", "state"],
            MISUSED,
            "give these as --names COLUMN, or put rows",
        ),
        (["--target", "state", "--C", 1, 10], FAILED, "'10' must end in one of .csv, "),
        (
            ["--target", "state", "--groups", "city", "--gate", 1],
            MISUSED,
            "--gate is for clusters, which --gr",
        ),
        (["--target", "state", "--groups", "city", "--method", "mkl"], MISUSED, "--groups is not for"),
        (["--target", "state", "--shared", 2], FAILED, "--shared must be"),
        (["--target", "state", "--gate", "rbf:1,2"], MISUSED, "--gate must be one kernel, got 2"),
        (["--target", "state", "--C", "1,10"], MISUSED, "--C has several values, from which only a search"),
        (
            ["--target", "state", "--C", "much"],
            MISUSED,
            "--C must be a number or a list of numbers, got 'much'",
        ),
        (["--target", "state", "--C", -1], FAILED, "--C must be greater than 0"),
        (["--target", "state", "--evenness", 0.1], FAILED, "--evenness must lie in [1/clusters, 1]"),
        (
            ["--target", "state", "--loss", "logistic"],
            FAILED,
            "--loss must be one of 'hinge', 'squared_hinge', 'log_loss', got 'logistic'.",
        ),
        (["--target", "state", "--loss", "huber"], FAILED, "'log_loss', got 'huber'"),
        (["--target", "state", "--loss", "hinge,log_loss"], MISUSED, "--loss has several values"),
        (
            ["--target", "view0_0", "--regression", "--loss", "hinge"],
            FAILED,
            "'squared_error', 'huber', 'quantile', got 'hinge'",
        ),
        (["--target", "view0_0"], FAILED, "or pass --regression to predict numbers"),
        (["--target", "state", "--regression"], FAILED, "needs numbers as targets, got 'well'"),
        (["--target", "city"], FAILED, "at least 2 classes"),
        (["--target", "state", "--out", "nowhere/m"], FAILED, "The folder of 'nowhere/m' is not there"),
        (["--target", "state", "--out", "."], FAILED, "must be a file, it is a folder"),
    ],
)
def test_fit_on_a_table(call, table, options, code, words):
    assert words in refused(call, "fit", table.train, *options, code=code)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", "", "got an empty file"),
        ("bare.csv", "a,b,target\n", "must hold at least one row"),
        ("words.csv", "a,target\nx,1\ny,0\n", "must have a column of numbers, or one of few different words"),
        ("signs.csv", "a;target\n1;2\n", "must have a column of numbers"),
        ("ragged.csv", "a,target\n1,2\n3,4,5\n", "line 3: must have 2 fields"),
        ("empty.fa", "", "must hold FASTA records, got none"),
        ("bare.fa", ">a\nACGT\n>b\nACGA\n", "record 'a': must have a value for target, 'target', got none"),
        ("empty.npz", "", "is not an .npz file of numbers, or is damaged"),
        ("empty.npy", "", "must be an .npy file"),
        ("empty.mat", "", "is damaged, or not a MATLAB file"),
        ("sheet.xls", "", "must end in one of .csv, "),
    ],
)
def test_files_that_cannot_be_used(call, tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    labels = ["--labels", tmp_path / name] if name.endswith(".npy") else ["--target", "target"]
    assert words in refused(call, "fit", tmp_path / name, *labels, code=FAILED)


def test_folders_and_bytes_in_place_of_a_table(call, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    words = refused(call, "fit", "folder.csv", "--target", "a", code=FAILED)
    assert words == "Error: 'folder.csv' must be a file, it is a folder."
    (tmp_path / "bytes.csv").write_bytes(bytes(range(200, 256)))
    assert "must be a text file in UTF-8" in refused(call, "fit", "bytes.csv", "--target", "a", code=FAILED)


def test_a_file_that_is_not_there(call):
    assert refused(call, "fit", "absent.csv", "--target", "a", code=FAILED) == (
        "Error: 'absent.csv' is not there; check the path."
    )


def test_two_files_of_other_samples(call, fasta):
    words = refused(call, "fit", fasta.train, fasta.new, code=FAILED)
    assert words.endswith(
        "names must be equal letter by letter, and rows of other samples are put into one file."
    )
    words = refused(call, "fit", fasta.new, f"again={fasta.new}", code=FAILED)
    assert "none has 'label'" in words


def test_fit_on_fasta_and_grams(call, fasta, grams):
    assert "be the target, 'label'" in refused(call, "fit", fasta.train, "--groups", "label", code=MISUSED)
    assert "which the kernel 'rbf' needs" in refused(
        call, "fit", fasta.train, "--kernels", "rbf", code=FAILED
    )
    assert "--names is for a table, not for a FASTA file" in refused(
        call, "fit", fasta.train, "--names", "id", code=MISUSED
    )
    assert "need labels: --target VARIABLE" in refused(call, "fit", grams.all, code=MISUSED)
    options = ("fit", grams.all, "--target", "disease")
    assert "computed already" in refused(call, *options, "--kernels", "rbf", code=MISUSED)
    assert "START:STOP" in refused(call, *options, "--rows", "some", code=MISUSED)
    assert "within the 130 rows" in refused(call, *options, "--rows", "0:999", code=FAILED)
    assert "it has K, disease" in refused(call, "fit", grams.all, "--target", "no", code=FAILED)
    assert "one label for each of 130 rows" in refused(
        call, "fit", grams.all, "--labels", grams.labels, code=FAILED
    )


def test_models_that_cannot_be_read(call, table, fasta, tmp_path):
    call("fit", table.train, "--target", "state", "--names", "id", "--out", "m.localmkl", "-q")
    whole = (tmp_path / "m.localmkl").read_bytes()
    (tmp_path / "half.localmkl").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "junk.localmkl").write_text("not a model")
    for command in (
        ["predict", "MODEL", table.new, "--out", "x"],
        ["report", "MODEL", "--out", "x"],
        ["info", "MODEL"],
    ):
        for name in ("half.localmkl", "junk.localmkl"):
            arguments = [name if word == "MODEL" else word for word in command]
            words = refused(call, *arguments, code=FAILED, out="x")
            assert "is not a localmkl model" in words
            assert words.rstrip().endswith("; models are written by 'localmkl fit'.")
        arguments = ["absent.localmkl" if word == "MODEL" else word for word in command]
        assert "is not there" in refused(call, *arguments, code=FAILED, out="x")
    wrong = refused(call, "predict", "m.localmkl", fasta.new, "--out", "x", code=FAILED, out="x")
    assert "must be a table as in the fit, got a FASTA file" in wrong
    (tmp_path / "less.csv").write_text("view0_0\n1.0\n")
    words = refused(call, "predict", "m.localmkl", table.new, "--labels", "x", code=MISUSED, out="x")
    assert "--labels is for FASTA" in words
    assert "must have the column 'view0_1' of the training rows" in refused(
        call, "predict", "m.localmkl", "less.csv", code=FAILED, out="x"
    )


def test_new_rows_with_text_where_numbers_were(call, table, patients):
    call("fit", table.train, "--target", "state", "--names", "id", "--out", "m.localmkl", "-q")
    frame = patients[:5].astype({"view0_1": object})
    frame.loc[3, "view0_1"] = "much"
    frame.to_csv("odd.csv", index=False)
    words = refused(call, "predict", "m.localmkl", "odd.csv", "--out", "x", code=FAILED, out="x")
    assert "'odd.csv', line 5: the column 'view0_1' must hold numbers, got 'much'" in words


def test_cross_grams_with_the_wrong_columns(call, grams, tmp_path):
    call("fit", grams.train, "--labels", grams.labels, "--out", "m.localmkl", "-q")
    np.savez(tmp_path / "odd.npz", K=np.ones((6, 4, 7)))
    assert "the 90 training rows as columns, got 7" in refused(
        call, "predict", "m.localmkl", "odd.npz", code=FAILED, out="x"
    )


def test_tuning_with_wrong_options(call, table):
    options = ("tune", table.train, "--target", "state", "--names", "id")
    assert "'rocauc'" in refused(call, *options, "--scoring", "rocauc", code=FAILED)
    assert "got '1,x'" in refused(call, *options, "--C", "1,x", code=MISUSED)
    assert "'neg_log_loss' needs predict_proba" in refused(
        call, *options, "--scoring", "neg_log_loss", "--loss", "hinge", code=FAILED
    )
    assert "n_splits=2 or more" in refused(call, *options, "--folds", 1, code=FAILED)


def test_a_class_too_rare_for_the_folds(call, tmp_path):
    rows = [f"{i},{'rare' if i < 2 else 'common'}" for i in range(20)]
    (tmp_path / "rare.csv").write_text("\n".join(["a,kind", *rows]))
    words = call("tune", "rare.csv", "--target", "kind").err
    assert "The class 'rare' has 2 rows, too few for cross-validation." in words
    (tmp_path / "rare.csv").write_text("\n".join(["a,kind", *rows[1:]]))
    words = call("fit", "rare.csv", "--target", "kind", bare=False).err
    assert "The class 'rare' has 1 row, too few for cross-validation." in words


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--C", "0", "--C must be greater than 0.0 and finite, got 0"),
        ("--p", "0.5", "--p must be at least 1.0, got 0.5"),
        ("--shared", "2", "--shared must be at least 0.0 and at most 1.0, got 2"),
        ("--clusters", "0", "--clusters must be an integer of at least 1, got 0"),
        ("--evenness", "2", "--evenness must lie in [1/clusters, 1]"),
    ],
)
def test_a_value_that_cannot_be_is_refused_alike_with_and_without_a_search(call, table, option, value, words):
    for command in (["fit", "--no-tune"], ["fit", "--tune"], ["tune"]):
        options = [*command, table.train, "--target", "state", option, value]
        assert words in call(*options, code=FAILED, bare=False).err


def test_a_checkpoint_of_another_search(call, table, tmp_path):
    from localmkl.model_selection.checkpoint import Checkpoint

    other = Checkpoint(tmp_path / "model.localmkl.checkpoint", {"rows": "other"}, {"seed": 0})
    other.add((0, 0), [])
    options = (
        "tune",
        table.train,
        "--target",
        "state",
        "--names",
        "id",
        "--C",
        1,
        "--p",
        1,
        "--evenness",
        0.5,
    )
    assert "is of a search with other data or options" in refused(call, *options, code=FAILED)


def test_no_write_permission(call, table, monkeypatch):
    """In a folder that may only be read; root may write everywhere, so its rights are put down."""
    folder = Path(tempfile.mkdtemp())
    try:
        shutil.copy(table.train, folder / "train.csv")
        (folder / "train.csv").chmod(0o644)
        options = ("fit", folder / "train.csv", "--target", "state", "--names", "id", "--method", "unif")
        call(*options, "--out", folder / "m.localmkl", "-q")
        (folder / "m.localmkl").chmod(0o644)
        folder.chmod(0o555)
        monkeypatch.chdir(folder)
        before = sorted(folder.iterdir())
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            for command in (
                [*options, "--out", "new.localmkl"],
                ["predict", "m.localmkl", "train.csv", "--out", "p.csv"],
                ["report", "m.localmkl", "--out", "r.html"],
            ):
                said = call(*command, code=FAILED)
                assert f"Error: '{command[-1]}' cannot be opened: permission denied" in said.err
                assert sorted(folder.iterdir()) == before
        finally:
            os.seteuid(user)
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_debug_shows_the_traceback(call, table):
    from typer.testing import CliRunner

    from localmkl.cli import app

    result = CliRunner().invoke(app, ["fit", str(table.train), "--target", "no", "--debug"])
    assert isinstance(result.exception, ValueError)
    assert "must have the column 'no'" in str(result.exception)


def test_what_nobody_expected_is_said_to_be_a_bug(call, table, monkeypatch):
    from localmkl.cli import training

    def broken(*_):
        raise KeyError("x")

    monkeypatch.setattr(training, "make_plan", broken)
    words = refused(call, "fit", table.train, "--target", "state", code=FAILED)
    assert "unexpected KeyError: 'x'; please report it" in words


def test_warnings_are_one_line(call, table):
    said = call(
        "fit", table.train, "--target", "state", "--names", "id", "--method", "mkl", "--tol", 1e-15, "-q"
    )
    lines = said.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("Warning: MKLClassifier cannot certify less than a relative duality gap of")


def test_users_need_not_know_of_joblib(capsys):
    with Voice().plainly():
        for module in ("joblib.externals.loky.process_executor", "elsewhere"):
            warnings.warn_explicit(f"Said by {module}.", UserWarning, f"{module}.py", 1, module)
    assert capsys.readouterr().err == "Warning: Said by elsewhere.\n"
