"""Packages use the public names of each other."""

import ast
from pathlib import Path

import pytest

import localmkl

HELPERS = {
    "_archive",
    "_checks",
    "_files",
    "_foreign",
    "_resources",
    "_sklearn",
    "_spelling",
    "_types",
    "_warnings",
}
"""Modules at the top that every package may use."""


def private_names(source, package):
    """Return attributes and imports of other packages that begin with an underscore."""
    tree, found = ast.parse(source), []
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            of_itself = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls", *own}
            found += [] if of_itself else [node.attr]
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith(f"localmkl.{package}"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            found += [name for name in names if name.startswith("_") and name not in {"__future__", *HELPERS}]
    return found


@pytest.mark.parametrize("package", ["cli", "explain", "plots", "report"])
def test_a_package_uses_no_private_names_of_others(package):
    files = sorted((Path(localmkl.__file__).parent / package).rglob("*.py"))
    assert len(files) > 2
    found = {file.name: names for file in files if (names := private_names(file.read_text("utf-8"), package))}
    assert not found


def test_private_names_are_seen():
    assert private_names("model._rows", "plots") == ["_rows"]
    assert private_names("from localmkl.kernels.stack import _same", "plots") == ["_same"]
    assert not private_names("from localmkl._checks import listed\nself._rows", "plots")
