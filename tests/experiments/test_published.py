"""The published numbers, and what is said about them."""

import pytest

from localmkl.experiments import EXPERIMENTS
from localmkl.experiments.published import PROTEIN, SPLICE, TSS, Number


@pytest.mark.parametrize("name", ["splice", "tss", "protein", "images"])
def test_every_published_number_belongs_to_a_method_and_a_point(name):
    experiment = EXPERIMENTS[name]
    published = set(experiment.published.numbers)
    added = ("CLMKL+", "one kernel")
    ours = {method.label for method in experiment.methods if not method.label.startswith(added)}
    assert published == ours - ({"UNIF", "HLMKL"} if name == "images" else set())
    for cells in experiment.published.numbers.values():
        assert tuple(cells) == experiment.points


def test_the_numbers_of_the_text_are_those_of_the_table():
    at_50 = {method: cells[50].mean for method, cells in SPLICE.numbers.items()}
    baselines = [mean for method, mean in at_50.items() if not method.startswith("CLMKL")]
    assert at_50["CLMKL, p = 4/3"] == 90.9
    assert max(baselines) == 85.4
    assert PROTEIN.numbers["CLMKL, p = 1.2"][311] == Number(75.0, 0.7, False)


def _contradictions(published):
    reference = published.numbers["CLMKL, p = 4/3"]
    return {
        (method, point)
        for method, cells in published.numbers.items()
        for point, number in cells.items()
        if number.bullet and number.mean > reference[point].mean
    }


def test_the_notes_name_the_bullets_that_contradict_the_means():
    assert _contradictions(SPLICE) == {
        *(("CLMKL, p = 1", n) for n in (100, 200)),
        *(("CLMKL, p = 2", n) for n in (100, 200, 800)),
    }
    assert _contradictions(TSS) == {("CLMKL, p = 1", n) for n in (400, 600, 800)}
