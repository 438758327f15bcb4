"""What all tests and examples in docstrings share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def close_figures():
    """Close what a test has drawn: Matplotlib keeps figures, and warns of many."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
