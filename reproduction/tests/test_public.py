"""The reproduction uses public names of the package alone, and the package knows nothing of it."""

import ast
from importlib import import_module
from pathlib import Path

import localmkl

HERE = Path(__file__).parents[1]
ALSO = {
    ("localmkl.datasets.downloading", "locate"),
    ("localmkl.datasets.downloading", "locate_all"),
    ("localmkl.provenance", "provenance"),
}
"""Names that a module has, and no package lists: files without a fetcher, and origins of rows."""


def trees():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in HERE.rglob("*.py")}


def test_only_public_names_of_the_package_are_imported():
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert not [one for one in node.names if one.name.startswith("localmkl.")], path
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "localmkl":
                names = {one.name for one in node.names}
                known = {*getattr(import_module(node.module), "__all__", ())}
                known |= {name for module, name in ALSO if module == node.module}
                assert names <= known, (path, node.module, names - known)


def test_no_private_attribute_is_read():
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                assert node.attr.startswith("__") or not node.attr.startswith("_"), (path, node.attr)


def test_nothing_in_the_package_imports_the_reproduction():
    package = Path(localmkl.__file__).parent
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [module for module in modules if module.split(".")[0] == "reproduction"], path
