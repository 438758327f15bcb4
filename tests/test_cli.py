"""The command line."""

import subprocess
import sys

from typer.testing import CliRunner

from localmkl.cli import app


def test_the_demo_prints_methods_gaps_and_weights():
    result = CliRunner().invoke(app, ["demo", "--samples", "120"])
    assert result.exit_code == 0
    for word in ("UNIF", "LMKL", "HLMKL", "CLMKL", "accuracy", "duality gap", "Kernel weights of CLMKL"):
        assert word in result.output


def test_nonsense_is_refused_in_words():
    result = CliRunner().invoke(app, ["demo", "--samples", "2"])
    assert result.exit_code == 2
    assert "--samples" in result.output


def test_help_lists_the_commands_without_heavy_imports():
    code = (
        "import sys; from typer.testing import CliRunner; from localmkl.cli import app;"
        "print(CliRunner().invoke(app, ['--help']).output);"
        "print([m for m in ('numba', 'sklearn', 'numpy') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "demo" in answer.stdout
    assert answer.stdout.rstrip().endswith("[]")
