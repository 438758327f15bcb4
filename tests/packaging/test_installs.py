"""Wheel and sdist in empty environments: what they bring, what they can do, and what they say they cannot.

`make dist` builds both into the folder `dist` and runs this; uv makes the environments.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.dist

ROOT = Path(__file__).parents[2]
UV = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
TOO_LARGE = {"gpu"}
"""Extras that are not tried: PyTorch takes gigabytes; `make devices` tries it."""
EXTRAS = (
    tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
    - TOO_LARGE
)

FIT = """
from localmkl import MKLClassifier
from localmkl.datasets import make_localized
X, y = make_localized(40, random_state=0)[:2]
model = MKLClassifier().fit(X, y)
assert model.duality_gap_ <= 1e-3
"""
PLOT = FIT + "from localmkl.plots import plot_weights; plot_weights(model)"
SAVE = FIT + "import localmkl; localmkl.save(model, 'model.localmkl')\n"
TABLE = """
from localmkl.datasets import read_table
open('rows.csv', 'w').write('a,b\\n1,2\\n3,4\\n')
assert read_table('rows.csv', target='b').frame.shape == (2, 1)
"""
OMICS = "from localmkl.datasets import read_views; read_views('none.h5ad')"
REPORT = (
    SAVE
    + "import subprocess; subprocess.run(['localmkl', 'report', 'model.localmkl', '--quiet'], check=True)"
)

NEEDS = {
    "frames": TABLE,
    "omics": OMICS,
    "plots": PLOT,
}
"""Extra: what needs it."""

BEYOND = {"omics"}
"""Extras with which that ends at a file that is not there."""


class Environment:
    """An empty virtual environment with one distribution in it, and a folder to work in."""

    def __init__(self, folder, distribution, extras=()):
        self.bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        wanted = f"{distribution}[{','.join(extras)}]" if extras else str(distribution)
        outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.variables = {
            **outer,
            "VIRTUAL_ENV": str(self.bin.parent),
            "PATH": f"{self.bin}{os.pathsep}{outer['PATH']}",
        }
        for command in (["venv", "--python", sys.executable, self.bin.parent], ["pip", "install", wanted]):
            subprocess.run([UV, *command, "--quiet"], check=True, env=self.variables)

    def run(self, *command):
        """Run a program of the environment; return its exit status, and all that it says."""
        program = [self.bin / command[0], *command[1:]]
        done = subprocess.run(program, cwd=self.work, env=self.variables, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def python(self, code):
        return self.run("python", "-W", "error::ImportWarning", "-c", code)


def built(pattern):
    found = sorted((ROOT / "dist").glob(pattern))
    assert len(found) == 1, f"`make dist` puts one {pattern} into the folder dist, there are {len(found)}"
    return found[0]


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("core"), built("*.whl"))


def test_the_wheel_says_that_it_is_typed_and_holds_no_tests():
    names = zipfile.ZipFile(built("*.whl")).namelist()
    assert "localmkl/py.typed" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"localmkl"}


def test_the_reproduction_is_in_the_sdist_alone():
    with tarfile.open(built("*.tar.gz")) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"reproduction/__main__.py", "reproduction/catalogue.toml", "reproduction/published.csv"} <= names


def test_importing_the_package_imports_nothing_large(core):
    code = "import sys, localmkl; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    status, said = core.python(code)
    assert status == 0, said
    assert not {"numpy", "numba", "sklearn", "torch", "matplotlib", "typer", "rich"} & set(said.split())


def test_help_waits_for_no_array(core):
    code = "import sys, localmkl.cli; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    status, said = core.python(code)
    assert status == 0, said
    assert not {"numpy", "numba", "sklearn"} & set(said.split())
    assert core.run("localmkl", "--help")[0] == 0


@pytest.mark.parametrize("code", [FIT, SAVE], ids=["fit", "save"])
def test_the_core_alone_fits_and_saves(core, code):
    assert core.python(code) == (0, "")


@pytest.mark.parametrize("extra", NEEDS)
def test_what_needs_an_extra_says_so_in_one_sentence(core, extra):
    status, said = core.python(NEEDS[extra])
    sentence = [line for line in said.splitlines() if "localmkl[" in line or "its extra" in line]
    assert status != 0
    assert len(sentence) == 1, said
    assert extra in sentence[0]


def test_a_table_without_pandas_is_one_line_of_the_command_line(core):
    (core.work / "rows.csv").write_text("a,y\n1,0\n2,1\n")
    status, said = core.run("localmkl", "fit", "rows.csv", "--target", "y")
    assert status != 0
    assert said.count("\n") == 1
    assert "localmkl[frames]" in said


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_an_extra_alone_is_enough_for_what_needs_it(tmp_path, extra):
    alone = Environment(tmp_path, built("*.whl"), [extra])
    assert alone.python(FIT) == (0, "")
    status, said = alone.python(NEEDS.get(extra, ""))
    assert status == 0 or extra in BEYOND, said
    assert "ImportError" not in said
    assert "ModuleNotFoundError" not in said


def test_all_extras_go_together_and_the_sdist_is_as_good_as_the_wheel(tmp_path):
    everything = Environment(tmp_path, built("*.tar.gz"), sorted(EXTRAS))
    for code in (SAVE, PLOT, TABLE, REPORT):
        status, said = everything.python(code)
        assert status == 0, said
