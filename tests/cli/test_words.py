"""Kernels in words."""

import inspect
from dataclasses import fields

import pytest

from localmkl import kernels
from localmkl.cli.words import (
    CLASS_LOSSES,
    KERNELS,
    LOSS_OPTIONS,
    NUMBER_LOSSES,
    parse_kernels,
    parse_values,
)
from localmkl.kernels.alphabets import guess_alphabet
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION


def made(spec):
    return [kernel for wanted in parse_kernels(spec) for kernel in wanted.make()]


def test_every_kernel_of_the_package_has_a_word():
    public = {name: getattr(kernels, name) for name in kernels.__all__}
    concrete = {
        name
        for name, kind in public.items()
        if inspect.isclass(kind) and issubclass(kind, kernels.Kernel) and not inspect.isabstract(kind)
    }
    assert {name for name, _ in KERNELS.values()} == concrete - {"CallableKernel", "SequenceKernel"}


@pytest.mark.parametrize("word", KERNELS)
def test_every_word_makes_its_kernel(word):
    name, own = KERNELS[word]
    [kernel] = made(word)
    assert type(kernel).__name__ == name
    assert own is None or own in kernel.get_params()


def test_every_loss_of_the_package_has_its_option_and_its_parameters_theirs():
    assert (tuple(CLASSIFICATION), tuple(REGRESSION)) == (CLASS_LOSSES, NUMBER_LOSSES)
    owners: dict = {}
    for name, kind in REGRESSION.items():
        for field in fields(kind):
            owners.setdefault(field.name, []).append(name)
    assert {name: list(losses) for name, losses in LOSS_OPTIONS.items()} == owners
    assert not any(fields(kind) for kind in CLASSIFICATION.values())


def test_values_ranges_and_parameters():
    assert [k.degree for k in made("wd:1-3,7")] == [1, 2, 3, 7]
    [kernel] = made("rbf gamma=median factor=1/4 standardize=True")
    assert (kernel.gamma, kernel.factor, kernel.standardize) == ("median", 0.25, True)
    assert parse_kernels('rbf columns="a b,c"')[0].parameters == {"columns": "a b,c"}
    assert [wanted.word for wanted in parse_kernels("rbf; ; linear;")] == ["rbf", "linear"]


def test_each_is_one_kernel_for_each_pattern():
    assert parse_kernels("linear each=a_*,b") == parse_kernels("linear columns=a_*; linear columns=b")
    assert parse_kernels("wd:2 each=x,y") == parse_kernels("wd:2 column=x; wd:2 column=y")


def test_numbers_stay_what_they_are():
    assert parse_values("1,1.0,1e-3,4/3,-2,none,x") == [1, 1.0, 0.001, 4 / 3, -2, None, "x"]
    assert [type(value) for value in parse_values("1,1.0")] == [int, float]


def test_names_tell_kernels_apart():
    assert [name for wanted in parse_kernels("rbf:0.1,1 columns=a_*; linear") for name in wanted.names()] == [
        "rbf 0.1 a_*",
        "rbf 1 a_*",
        "linear",
    ]


@pytest.mark.parametrize(
    ("sequences", "alphabet"),
    [(["acgt"], "dna"), (["ACGU"], "rna"), (["ACGTN-"], "dna"), (["MKV"], "protein"), (["AC#"], "protein")],
)
def test_alphabets_are_guessed(sequences, alphabet):
    assert guess_alphabet(sequences) == alphabet
