"""What the API page lists is documented in numpydoc's form; the examples themselves run as doctests.

First lines name the object or are imperatives.
"""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.validate import validate
from sklearn.base import BaseEstimator

PAGE = Path(__file__).parents[1] / "docs" / "api.rst"
SOURCES = Path(__file__).parents[1] / "src" / "localmkl"

QUESTIONS = re.compile(r"(What|Who|How|Where|Which|When|Why)\b")
LEFT_OUT = {
    "ES01": "one sentence may be enough",
    "SA01": "a relative is named where there is one",
    "PR07": "a name and a type may say all about an argument",
    "RT02": "a result may have a name",
    "RT03": "and need no more words",
    "GL02": "the estimators' docstrings are put together from parts",
}

BRIEF = {
    "EX01": "the example of the class uses the method",
    "PR01": "one sentence may name all arguments",
    "RT01": "and the result",
}

NAMED_TUPLE = {"EX01": "the function that returns it has one", "PR01": "its fields are its attributes"}

CONSTANTS = {"ALPHABETS", "NORMALIZATIONS", "__version__"}


def listed():
    """Return the paths of everything on the API page."""
    module, paths = "", []
    for line in PAGE.read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   (\w+)$", line):
            paths.append(f"{module}.{found[1]}")
    return paths


def named(path):
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def own_methods(thing):
    """Return the names of public methods that are ours and do not inherit their docstring."""
    functions = inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else []
    ours = [(name, method) for name, method in functions if method.__module__.startswith("localmkl")]
    return [name for name, method in ours if not name.startswith("_") and method.__doc__]


def complaints(path, *allowed):
    codes = set().union(LEFT_OUT, *allowed)
    return [f"{path}: {code} {text}" for code, text in validate(path)["errors"] if code not in codes]


@pytest.mark.parametrize(
    "package",
    ["localmkl", "localmkl.kernels", "localmkl.datasets", "localmkl.model_selection", "localmkl.report"],
)
def test_the_api_page_lists_everything_public(package):
    public = {f"{package}.{name}" for name in import_module(package).__all__ if name not in CONSTANTS}
    moved = {f"{package}.{path.rpartition('.')[2]}" for path in listed()}
    assert public <= moved


@pytest.mark.parametrize("path", listed())
def test_classes_and_functions_are_documented_with_an_example(path):
    thing = named(path)
    fields = NAMED_TUPLE if hasattr(thing, "_fields") else {}
    assert complaints(path, fields) == []


@pytest.mark.parametrize("path", [path for path in listed() if own_methods(named(path))])
def test_methods_are_documented_and_those_of_estimators_in_full(path):
    cls = named(path)
    brief = {"EX01"} if issubclass(cls, BaseEstimator) and hasattr(cls, "predict") else BRIEF
    assert [found for name in own_methods(cls) if (found := complaints(f"{path}.{name}", brief))] == []


@pytest.mark.parametrize("path", [path for path in listed() if path.endswith(("Classifier", "Regressor"))])
def test_the_defaults_that_are_documented_are_those_of_the_constructor(path):
    written = dict(re.findall(r"^(\w+) : .*, default=(.+)$", named(path).__doc__, re.MULTILINE))
    defaults = {
        name: argument.default for name, argument in inspect.signature(named(path)).parameters.items()
    }
    assert {name: eval(text) for name, text in written.items()} == defaults


def asks(path):
    """Whether the first line of a docstring, also of one below a constant, is a question."""
    texts = [
        node.value.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    return any(isinstance(text, str) and QUESTIONS.match(text.strip()) for text in texts)


def test_first_lines_name_the_object_and_do_not_ask():
    assert {str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py") if asks(path)} == set()
