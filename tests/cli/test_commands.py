"""The commands, their help, and what is left of those that went."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import localmkl
from localmkl.cli import app
from localmkl.cli.options import OPTIONS

COMMANDS = ("fit", "tune", "compare", "predict", "report", "info", "demo")


def test_the_demo_prints_methods_gaps_and_weights_and_ends_with_the_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo", "--samples", "120"])
    assert result.exit_code == 0
    for word in ("UNIF", "LMKL", "HLMKL", "CLMKL", "accuracy", "duality gap", "Kernel weights of CLMKL"):
        assert word in result.output
    path = Path(result.output.rstrip().rpartition(": ")[2])
    assert path.parent == tmp_path
    assert path.exists()


def test_the_version_is_printed():
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
    for command in COMMANDS:
        assert f" {command} " in answer.stdout
    for gone in ("bench", "warmup", "reproduce"):
        assert gone not in answer.stdout
    assert answer.stdout.rstrip().endswith("[]")


def helped(command):
    return " ".join(CliRunner(env={"COLUMNS": "200"}).invoke(app, [command, "--help"]).output.split())


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "demo"])
def test_help_opens_with_three_examples_that_name_known_options(command):
    text = helped(command)
    examples = text.partition("Arguments")[0].split(f"localmkl {command} ")[1:]
    assert len(examples) == 3
    for word in " ".join(examples).split():
        if word.startswith("--"):
            assert word[2:] in OPTIONS or word == "--json"
    assert "Output" in text


def test_help_of_fit_has_panels_and_values_of_the_code():
    text = helped("fit")
    for panel in ("Data", "Model", "Search", "Output", "Advanced"):
        assert f"─ {panel} ─" in text
    assert "The column to predict" in text
    assert "one set of weights for all rows (mkl)" in text
    default = localmkl.CLMKLClassifier().get_params(deep=False)
    assert f"Number of clusters to discover; default {default['n_clusters']}." in text
    assert f"default {default['tol']}." in text


def test_reproduce_says_where_it_went():
    result = CliRunner().invoke(app, ["reproduce", "splice", "--data", "uci"])
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "python -m reproduction" in result.stderr
