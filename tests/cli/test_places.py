"""Where commands write: over nothing that they read, nor that is something else; and nothing is lost."""

import errno
import os
import signal
import subprocess
import sys

import pandas as pd
import pytest

from localmkl.cli import training
from localmkl.cli.places import COMPARISON, MODEL, PREDICTIONS, REPORT, SCORES, check_outputs
from localmkl.cli.voice import write_out
from localmkl.model_selection import run

FAILED, MISUSED, STOPPED = 1, 2, 130
QUICK = ("--target", "state", "--names", "id", "--method", "unif", "-q")
COMPARED = ("--target", "state", "--names", "id", "--splits", 2, "-q")
TUNED = ("--target", "state", "--names", "id", "--method", "mkl", "--C", "0.1,1", "--p", 1, "--folds", 2)


def test_what_a_command_reads_is_never_written(call, table, grams, tmp_path):
    os.link(table.train, tmp_path / "hard.csv")
    (tmp_path / "soft.csv").symlink_to(table.train)
    call("fit", table.train, *QUICK, "--out", "m.localmkl")
    labels = grams.labels.rename(tmp_path / "labels.svg")
    words = {
        ("fit", table.train, *QUICK, "--out", "train.csv"): "--out",
        ("fit", table.train, *QUICK, "--out", "hard.csv"): "--out",
        ("fit", "soft.csv", *QUICK, "--out", table.train): "--out",
        ("fit", grams.train, "--labels", labels, "-q", "--out", labels): "--out",
        ("tune", table.train, *TUNED, "--table", "soft.csv"): "--table",
        ("compare", table.train, *COMPARED, "--out", "hard.csv"): "--out",
        ("predict", "m.localmkl", table.test, "--out", "m.localmkl"): "--out",
        ("report", "m.localmkl", table.test, "--out", table.test): "--out",
    }
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for command, option in words.items():
        said = call(*command, "--force", code=MISUSED)
        assert f"Error: {option} must not be a file that the command reads, got" in said.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_two_results_need_two_places(call, table):
    for out, other in (("m", "m"), ("m", "./m"), ("m", "m.checkpoint")):
        said = call("tune", table.train, *TUNED, "--out", out, "--table", other, code=MISUSED)
        assert "and --table must be different files, both are" in said.err


def test_only_what_the_same_command_has_written_is_replaced(call, table, tmp_path):
    call("tune", table.train, *TUNED, "-q", "--out", "m.localmkl", "--table", "s.csv")
    call("predict", "m.localmkl", table.new, "-q", "--out", "p.csv")
    call("report", "m.localmkl", "-q", "--folds", 0, "--stability", 0, "--out", "r.html")
    call("compare", table.train, *COMPARED, "--kernels", "linear", "--out", "c.csv")
    kinds = {"m.localmkl": MODEL, "s.csv": SCORES, "p.csv": PREDICTIONS, "r.html": REPORT, "train.csv": None}
    kinds |= {"c.csv": COMPARISON}
    (tmp_path / "empty").touch()
    for name, own in kinds.items():
        for kind in set(kinds.values()) - {None, own}:
            with pytest.raises(ValueError, match=f"'{name}' is there already and is not {kind};"):
                check_outputs([("--out", name, kind)])
            check_outputs([("--out", name, kind)], force=True)
        for path in (name, "empty", "new") if own is not None else ():
            check_outputs([("--out", path, own)])
    (tmp_path / "notes").write_text("name,label\n")
    command = ("predict", "m.localmkl", table.new, "-q", "--out", "notes")
    assert "give --force to replace it." in call(*command, code=FAILED).err
    assert (tmp_path / "notes").read_text() == "name,label\n"
    call(*command, "--force")
    call(*command)


def test_a_device_is_refused_before_the_work(call, table):
    said = call("fit", table.train, "--target", "state", "--out", "/dev/null", code=FAILED)
    assert said.err.endswith("Error: '/dev/null' must be a file, it is a device; choose another name.\n")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_search_whose_model_finds_no_room_is_not_lost(call, table, tmp_path, monkeypatch, number):
    command = ("tune", table.train, *TUNED, "--table", "t.csv")
    save = training.write_model

    def full(model, path):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(training, "write_model", full)
    said = call(*command, code=FAILED)
    assert "Error: 'model.localmkl' cannot be used: " in said.err
    assert said.err.endswith("; choose another place, or make room.\n")
    assert (tmp_path / "model.localmkl.checkpoint").exists()
    scores = pd.read_csv("t.csv")
    monkeypatch.setattr(training, "write_model", save)
    monkeypatch.setattr(run, "columns_of", None)  # nothing is run again
    assert "quality    AUC" in call(*command).out
    assert sorted(os.listdir(tmp_path)) == ["model.localmkl", "new.parquet", "t.csv", "test.tsv", "train.csv"]
    pd.testing.assert_frame_equal(pd.read_csv("t.csv"), scores)


def test_a_search_stopped_while_its_model_is_written_goes_on(call, table, tmp_path, monkeypatch):
    def interrupt(model, path):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "write_model", interrupt)
        said = call("tune", table.train, *TUNED, code=STOPPED)
    assert "is kept in 'model.localmkl.checkpoint': give the command again to go on." in said.err
    monkeypatch.setattr(run, "columns_of", None)
    call("tune", table.train, *TUNED)


def test_an_error_leaves_nothing_that_blocks_the_corrected_command(call, table, tmp_path, monkeypatch):
    wrong = ("tune", table.train, *TUNED, "--tol", -1)
    for _ in range(2):
        call(*wrong, code=FAILED)
        assert not list(tmp_path.glob("*.checkpoint"))
    original, count = run.columns_of, iter(range(10**6))

    def fail_later(*arguments):
        if next(count) == 1:
            raise ValueError("This candidate cannot be fitted.")
        return original(*arguments)

    monkeypatch.setattr(run, "columns_of", fail_later)
    said = call("tune", table.train, *TUNED[:-1], 3, code=FAILED)
    assert said.err.endswith("Error: This candidate cannot be fitted.\n")
    call("tune", table.train, *TUNED)


def test_finished_work_of_another_search_is_dropped_by_force_alone(call, table, tmp_path, monkeypatch):
    def interrupt(model, path):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "write_model", interrupt)
        call("tune", table.train, *TUNED, code=STOPPED)
    work = (tmp_path / "model.localmkl.checkpoint").read_bytes()
    other = ("tune", table.train, *TUNED[:-1], 3)
    for _ in range(2):
        assert "or give --force to drop it." in call(*other, code=FAILED).err
        assert (tmp_path / "model.localmkl.checkpoint").read_bytes() == work
    call(*other, "--force")
    assert not (tmp_path / "model.localmkl.checkpoint").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_full_disk_behind_stdout_is_said(monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(OSError, match="No space left on device: 'stdout'"):
            write_out("x" * 10**5)
        full.write("what is left goes nowhere, without an error at the end")
        full.flush()


SLEEPER = """
import sys, time, typer
from localmkl.cli.voice import Voice, listen, stop
listen(stop)
try:
    with Voice().plainly():
        try:
            print("ready", flush=True)
            time.sleep(60)
        finally:
            print("cleaning", flush=True)
            time.sleep({pause})
except typer.Exit as end:
    sys.exit(end.exit_code)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX systems")
@pytest.mark.parametrize("names", ["SIGTERM", "SIGHUP", "SIGINT SIGTERM"])
def test_signals_that_ask_to_end_stop_like_ctrl_c_and_a_second_one_at_once(names):
    first, *second = (getattr(signal, name) for name in names.split())
    code = SLEEPER.format(pause=60 if second else 0)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    restore = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    with subprocess.Popen([sys.executable, "-c", code], **pipes, **restore) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(first)
        assert process.stdout.readline() == "cleaning\n"
        for number in second:
            process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == (-getattr(signal, second[0].name) if second else STOPPED)
    assert err == ("Stopped.\n" if names in ("SIGTERM", "SIGHUP") else "")


LEAVER = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from localmkl.cli import main
sys.argv = ["localmkl", "--version"]
try:
    main()
except SystemExit:
    print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, flush=True)
os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX systems")
def test_signals_that_nohup_ignores_stay_ignored_and_others_end_a_command_that_is_done():
    said = subprocess.run([sys.executable, "-c", LEAVER], capture_output=True, text=True, timeout=60)
    assert said.stdout.splitlines()[1:] == ["True"]
    assert (said.returncode, said.stderr) == (-signal.SIGTERM, "")
