"""``--rank``: features in place of Grams, files read in pieces, and what is said of both."""

import pytest

from localmkl import _resources

FAILED, MISUSED = 1, 2


def test_a_fit_with_a_rank_says_what_its_features_lose_and_how_far_it_is_from_the_exact_optimum(call, table):
    call("fit", table.train, "--target", "state", "--names", "id", "--rank", 20, "--exact-gap")
    said = call("info", "model.localmkl")
    assert "rank 20: " in said.out
    assert "20 landmarks; lost of a kernel at most " in said.out
    assert " of the optimum of the exact problem" in said.out
    record = call("info", "model.localmkl", "--json").json()
    assert len(record["features"]["lost"]) == len(record["kernels"])
    assert 0.0 < max(record["features"]["lost"]) < 1.0
    assert 0.0 < record["made"]["exact_gap"]["gap"] < 1.0
    assert record["made"]["exact_gap"]["error"] == 0.0


def test_an_exact_gap_of_too_many_pairs_is_estimated(call, table, monkeypatch):
    monkeypatch.setattr("localmkl.cli.train.MOST_PAIRS", 500)
    said = call("fit", table.train, "--target", "state", "--rank", 20, "--exact-gap")
    assert "give or take " in said.out


@pytest.mark.parametrize(
    "options, code, message",
    [
        (("--rank", 500), FAILED, "--rank must be at most the number of training rows, got 500 for 90 rows"),
        (("--rank", 20, "--method", "lmkl"), MISUSED, "--rank is not for classification with the method"),
        (("--exact-gap",), MISUSED, "--exact-gap is for --rank"),
    ],
)
def test_a_rank_that_cannot_be_had_is_refused_in_a_sentence(call, table, options, code, message):
    said = call("fit", table.train, "--target", "state", *options, code=code)
    assert message in said.err
    assert not (said.path / "model.localmkl").exists()


def test_a_rank_is_refused_for_grams_and_suggested_where_grams_do_not_fit(call, table, grams, monkeypatch):
    said = call("fit", grams.all, "--target", "disease", "--rank", 20, code=MISUSED)
    assert "--rank is for tables and FASTA files" in said.err
    monkeypatch.setattr(_resources, "available_memory", lambda: 100_000)
    said = call("fit", table.train, "--target", "state", code=FAILED)
    assert "set --rank 200, or use fewer rows" in said.err
