"""The words for kernels, values and losses."""

import inspect

import pytest

from localmkl import kernels
from localmkl.cli.plan import default_loss
from localmkl.cli.voice import Misuse
from localmkl.cli.words import parse_grids, parse_kernels, parse_values

NOT_FOR_FILES = {"Kernel", "Precomputed"}


@pytest.mark.parametrize("word", kernels.KERNEL_WORDS)
def test_every_word_makes_its_kernel(word):
    kind, own = kernels.KERNEL_WORDS[word]
    [wanted] = parse_kernels(word)
    [kernel] = wanted.make(alphabet="dna", standardize=True, impute=None)
    assert type(kernel).__name__ == kind
    assert own is None or own in inspect.signature(type(kernel)).parameters


def test_values_ranges_and_parameters():
    [wanted] = parse_kernels("rbf:0.1,1/4 columns='a b*,c' standardize=false")
    first, second = wanted.make(standardize=True)
    assert (first.factor, second.factor) == (0.1, 0.25)
    assert first.columns == "a b*,c"
    assert first.standardize is False
    assert parse_values("1-3,5,4/3,median") == [1, 2, 3, 5, 4 / 3, "median"]
    with pytest.raises(ValueError, match="too many values; at most 1000"):
        parse_values("1-99999")


def test_each_is_one_kernel_for_each_pattern():
    found = parse_kernels("linear; rbf:1,2 each=a_*,b_*")
    assert [wanted.parameters.get("columns") for wanted in found] == [None, "a_*", "b_*"]
    assert [len(wanted.make()) for wanted in found] == [1, 2, 2]


def test_numbers_stay_what_they_are():
    assert parse_grids({"C": "0.1, 1", "p": "inf,4/3", "n_clusters": None}) == {
        "C": [0.1, 1],
        "p": [float("inf"), 4 / 3],
    }
    for text in ("much", "", "inf", "1,x"):
        with pytest.raises(Misuse, match="--C must be a number or a list of numbers"):
            parse_grids({"C": text})


def test_log_loss_is_the_default_for_two_classes_and_the_hinge_for_more():
    assert [default_loss(n_classes) for n_classes in (2, 3, 10)] == ["log_loss", "hinge", "hinge"]
