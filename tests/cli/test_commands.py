"""The command line."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import localmkl
from localmkl.cli import app


def test_the_demo_prints_methods_gaps_and_weights_and_ends_with_the_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo", "--samples", "120"])
    assert result.exit_code == 0
    for word in ("UNIF", "LMKL", "HLMKL", "CLMKL", "accuracy", "duality gap", "Kernel weights of CLMKL"):
        assert word in result.output
    path = Path(result.output.rstrip().rpartition(": ")[2])
    assert path.parent == tmp_path
    assert "held-out" in path.read_text(encoding="utf-8")


def test_the_demo_without_the_extra_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "altair", None)
    result = CliRunner().invoke(app, ["demo", "--samples", "60"])
    assert result.exit_code == 0
    assert "localmkl[report]" in result.output
    assert not list(tmp_path.iterdir())


def test_the_version_is_said():
    assert CliRunner().invoke(app, ["--version"]).output == f"localmkl {localmkl.__version__}\n"


def test_nonsense_is_refused_in_words():
    result = CliRunner().invoke(app, ["demo", "--samples", "2"])
    assert result.exit_code == 2
    assert "--samples" in result.output


def test_help_lists_the_commands_without_heavy_imports():
    code = (
        "import sys; from typer.testing import CliRunner; from localmkl.cli import app;"
        "print(CliRunner().invoke(app, ['--help']).output);"
        "print([m for m in ('numba', 'sklearn', 'numpy', 'pandas') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for command in (*("fit", "tune", "compare", "predict", "report", "info", "bench", "warmup", "demo"),):
        assert f" {command} " in answer.stdout
    assert answer.stdout.rstrip().endswith("[]")


def test_warmup_fits_models_of_every_kind():
    result = CliRunner().invoke(app, ["warmup"])
    assert result.exit_code == 0
    assert result.stdout.startswith("Ready, after ")


@pytest.mark.parametrize("arguments", [(), ("splice", "--data", "uci")])
def test_reproduce_says_where_it_went(arguments):
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    assert result.exit_code == 1
    assert result.output.count("\n") == 1
    assert "python -m reproduction" in result.output
