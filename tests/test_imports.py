"""Private names stay where they are: those of scikit-learn behind one file, ours in their package."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from localmkl import _sklearn

SOURCE = Path(_sklearn.__file__).parent


def imports():
    """Yield (our package, the parts of an imported name) of every import in the sources."""
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).with_suffix("").parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for one in node.names:
                    yield own, [*(getattr(node, "module", None) or "").split("."), *one.name.split(".")]


def private(names):
    return [name for name in names if name.startswith("_") and not name.startswith("__")]


@pytest.mark.parametrize("name", _sklearn.NAMES)
def test_what_is_used_of_scikit_learn_is_there(name):
    assert callable(getattr(_sklearn, name))


def test_no_other_file_imports_private_names_of_scikit_learn():
    assert [parts for _, parts in imports() if "sklearn" in parts[:2] and private(parts)] == []


def test_no_module_imports_a_private_name_of_another_package_of_ours():
    # Modules of the root, `localmkl._checks` for instance, are private to all of localmkl.
    ours = [(own, parts[1:]) for own, parts in imports() if parts[0] == "localmkl"]
    assert len(ours) > 100
    assert [parts for own, parts in ours if parts[0] != own and private(parts[1:])] == []


def wanted(path):
    """Yield the names of the package that a test module imports, with their modules."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "localmkl":
            yield from ((node.module, alias.name) for alias in node.names)


def test_test_modules_import_names_that_are_there():
    """A module that cannot be imported is passed over where examples in docstrings are collected."""
    tests = Path(__file__).parent
    pairs = {pair for path in tests.rglob("*.py") for pair in wanted(path)} - {("localmkl.backends", "fused")}
    missing = [
        (module, name)
        for module, name in sorted(pairs)
        if not hasattr(import_module(module), name) and find_spec(f"{module}.{name}") is None
    ]
    assert missing == []
