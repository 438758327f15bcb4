"""Tables: means, spreads, paired tests, the paper's numbers beside ours."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as t_distribution
from scipy.stats import ttest_rel

from localmkl.experiments import EXPERIMENTS
from localmkl.experiments.figures import curves, draw_figure, leads
from localmkl.experiments.summary import (
    BETTER,
    WORSE,
    difference,
    tabulate,
    to_csv,
    to_markdown,
    with_test_shares,
)

SPLICE = EXPERIMENTS["splice"]
SOURCE = SPLICE.sources[0]


def make_rows(scores, point=50, **extra):
    """Rows of methods with their scores over repetitions."""
    common = {"point": point, "gap": 5e-4, "seconds": 36.0, "date": "2026-01-02T03:04:05+00:00"}
    common |= {"version": "1.0", "commit": "abc", "cpu": "a CPU", "cores": 2, "system": "Linux"}
    common |= {"parameters": {"C": 10.0, "evenness": 0.6}} | extra
    return [
        {"method": method, "repetition": k, "score": float(score), **common}
        for method, values in scores.items()
        for k, score in enumerate(values)
    ]


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    reference = 0.9 + 0.01 * rng.normal(size=20)
    return {
        "CLMKL, p = 4/3": reference,
        "UNIF": reference - 0.02 + 0.005 * rng.normal(size=20),
        "MKL, p = 1": reference + 0.02 + 0.005 * rng.normal(size=20),
        "MKL, p = 2": reference + 0.02 * rng.normal(size=20),
        "HLMKL, p = 1": reference,
    }


def test_cells_are_means_and_sample_deviations_with_paired_tests(scores):
    table = tabulate(SPLICE, make_rows(scores))
    for method, values in scores.items():
        cell = table[method][50]
        assert cell.mean == pytest.approx(100 * values.mean())
        assert cell.std == pytest.approx(100 * values.std(ddof=1))
        assert cell.n == 20
    p_value = ttest_rel(scores["MKL, p = 2"], scores["CLMKL, p = 4/3"]).pvalue
    assert p_value > 0.05
    marks = {method: cells[50].mark for method, cells in table.items()}
    assert marks == {
        "UNIF": BETTER,
        "MKL, p = 1": WORSE,
        "MKL, p = 2": "",
        "HLMKL, p = 1": "",
        "CLMKL, p = 4/3": "",
    }
    assert table["HLMKL, p = 1"][50].record == (0, 20, 0)
    assert sum(table["UNIF"][50].record) == 20


def test_marks_are_those_of_the_paired_t_test_and_doubled_by_the_corrected_one():
    rng = np.random.default_rng(3)
    reference = 0.9 + 0.01 * rng.normal(size=10)
    scores = {"CLMKL, p = 4/3": reference}
    settings = {"instances": 100, "inner_folds": None}
    seen = set()
    for shift in np.linspace(-0.03, 0.03, 13):
        scores["UNIF"] = reference + shift + 0.01 * rng.normal(size=10)
        rows = with_test_shares(make_rows(scores, n_train=50), settings)
        cell = tabulate(SPLICE, rows)["UNIF"][50]
        gap = scores["CLMKL, p = 4/3"] - scores["UNIF"]
        mark = BETTER if gap.mean() > 0.0 else WORSE
        t = gap.mean() / np.sqrt((1 / 10 + 25 / 50) * gap.var(ddof=1))
        assert cell.mark == (mark if ttest_rel(gap, np.zeros(10)).pvalue < 0.05 else "")
        assert cell.corrected == (mark if 2.0 * t_distribution.sf(abs(t), 9) < 0.05 else "")
        assert difference(rows, "UNIF", "CLMKL, p = 4/3", 50)[2] == cell.mark + cell.corrected
        seen.add(cell.mark + cell.corrected)
    assert seen == {2 * BETTER, BETTER, "", WORSE, 2 * WORSE}


def test_the_same_lead_every_time_is_marked_but_not_of_a_few_repetitions():
    for count, mark in ((4, ""), (5, BETTER)):
        scores = {"CLMKL, p = 4/3": 0.75 + np.arange(count) / 32, "UNIF": 0.5 + np.arange(count) / 32}
        assert tabulate(SPLICE, make_rows(scores))["UNIF"][50].mark == mark
    copies = {"CLMKL, p = 4/3": np.full(9, 0.75), "UNIF": np.full(9, 0.5)}
    assert tabulate(SPLICE, make_rows(copies))["UNIF"][50].mark == ""


def test_the_share_of_rows_scored_is_that_of_the_split():
    folds, halves = ({"instances": 100, "inner_folds": k} for k in (5, None))
    said = {"n_train": 40, "n_test": 20}
    for row, settings, share in (
        ({"n_train": 80}, folds, 20 / 80),
        ({"n_train": 51}, halves, 25 / 51),
        (said, halves, 20 / 40),
    ):
        assert with_test_shares([row], settings)[0]["test_share"] == pytest.approx(share)


def test_the_summary_says_both_tests_where_rows_are_used_again(scores):
    rows = make_rows(scores, n_train=50)
    plain = to_markdown(SPLICE, SOURCE, rows)
    assert "(paired t-test, 95 %, as in the paper)." in plain
    assert "All repetitions share their test rows" not in plain
    fixed = replace(SOURCE, resampled=False)
    assert "All repetitions share their test rows: of others it says nothing." in to_markdown(
        SPLICE, fixed, rows
    )
    anew = replace(fixed, fidelity="generated")
    assert "All repetitions share their test rows" not in to_markdown(SPLICE, anew, rows)
    both = to_markdown(SPLICE, SOURCE, with_test_shares(rows, {"instances": 100, "inner_folds": None}))
    assert "Nadeau and Bengio 2003" in both
    assert f"{2 * BETTER} " in both


def test_pairs_are_matched_by_repetition_not_by_order(scores):
    rows = make_rows(scores)
    shuffled = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))]
    assert tabulate(SPLICE, shuffled)["UNIF"][50].record == tabulate(SPLICE, rows)["UNIF"][50].record
    lacking = [row for row in rows if row["method"] != "CLMKL, p = 4/3" or row["repetition"] < 7]
    assert sum(tabulate(SPLICE, lacking)["UNIF"][50].record) == 7


def test_the_paper_stands_beside_ours_and_the_lead_is_computed_for_both():
    scores = {"UNIF": [0.6, 0.7], "one kernel": [0.7, 0.8], "CLMKL, p = 4/3": [0.8, 0.9]}
    rows = make_rows(scores)  # one kernel by itself is no other in the paper's sense
    text = to_markdown(SPLICE, SOURCE, rows)
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")
    ]
    assert lines[0] == ["training size", "", "50"]
    assert ["UNIF", "ours", "65.0 ± 7.1"] in lines
    assert ["", "paper", "79.5 ± 2.8•"] in lines
    assert ["LMKL", "paper", "79.8 ± 2.7•"] in lines
    assert lines[-2:] == [["CLMKL, p = 4/3 - best other", "ours", "+20.0"], ["", "paper", "+5.5"]]
    assert "over 2 repetitions (of 50 planned)" in text
    assert "same source" in text
    made = "6 rows (UNIF 2, one kernel 2, CLMKL 2)."
    assert f"Made by localmkl 1.0 (commit abc) on a CPU, 2 cores, Linux: {made}" in text


def test_the_lead_is_shown_where_the_paper_has_one():
    rows = make_rows({"groups, share chosen": [0.8, 0.9], "one MKL for each": [0.6, 0.7]}, point=60)
    organisms = EXPERIMENTS["organisms"]
    text = to_markdown(organisms, organisms.sources[0], rows)
    assert "| groups, share chosen " in text
    assert "best other" not in text
    assert "as in the paper" not in text


def test_failed_rows_are_said_and_do_not_count_once_they_are_made_good():
    rows = make_rows({"UNIF": [0.6, 0.7]})
    failed = {"method": "UNIF", "point": 50, "repetition": 2, "error": "ValueError: no."}
    text = to_markdown(SPLICE, SOURCE, [*rows, failed])
    assert "1 failed and will be tried again, the first by ValueError: no." in text
    assert tabulate(SPLICE, [*rows, failed])["UNIF"][50].n == 2
    mended = {**failed, "repetition": 0, "error": "ValueError: long ago."}
    assert "the first by ValueError: no." in to_markdown(SPLICE, SOURCE, [mended, *rows, failed])
    good = {**rows[0], "repetition": 2}
    assert "failed" not in to_markdown(SPLICE, SOURCE, [*rows, failed, good])


def test_gaps_above_the_tolerance_are_said():
    text = to_markdown(SPLICE, SOURCE, make_rows({"UNIF": [0.5]}, gap=2e-3))
    assert "2.0e-03, 1 above 1e-03." in text
    text = to_markdown(SPLICE, SOURCE, make_rows({"UNIF": [0.5]}, worst_gap=2e-3))
    assert "5.0e-04, 1 with another candidate above 1e-03." in text


def test_one_point_alone_gives_one_line_per_method_with_its_record():
    images = EXPERIMENTS["images"]
    rows = make_rows({"MKL": [0.8, 0.9, 0.7], "CLMKL": [0.8, 0.95, 0.6]}, point="all")
    lines = to_markdown(images, images.sources[0], rows).splitlines()
    (line,) = (line for line in lines if line.startswith("| CLMKL  "))
    assert [cell.strip() for cell in line.split("|")[1:-1]] == ["CLMKL", "78.3 ± 17.6", "90.26", "1 / 1 / 1"]


def test_times_are_seconds_without_marks():
    timing = EXPERIMENTS["time"]
    rows = make_rows({"UNIF": [0.5, 0.6, 0.7], "CLMKL, p = 2": [1.5, 1.6, 1.8]}, point=100)
    cell = tabulate(timing, rows)["UNIF"][100]
    assert cell.mean == pytest.approx(0.6)
    assert cell.mark == ""


def test_the_csv_holds_both_sides(scores):
    lines = list(csv.DictReader(io.StringIO(to_csv(SPLICE, SOURCE, make_rows(scores)))))
    unif = next(line for line in lines if line["method"] == "UNIF")
    assert float(unif["mean"]) == pytest.approx(100 * scores["UNIF"].mean(), rel=1e-5)
    assert (unif["published_mean"], unif["published_bullet"], unif["mark"]) == ("79.5", "True", BETTER)
    assert (unif["median_C"], unif["median_evenness"], unif["n"]) == ("10", "0.6", "20")


def test_the_figure_shows_what_the_table_says(tmp_path):
    rows = make_rows({"CLMKL, p = 1": [0.8, 0.9], "CLMKL, p = 2": [0.1, 0.2]})
    rows += make_rows({"CLMKL, p = 1": [0.9, 0.9]}, point=100)
    panels = curves(SPLICE, rows)
    points, means, stds = panels["ours"]["CLMKL, p = 1"]
    assert points == [50, 100]
    np.testing.assert_allclose(means, [85, 90])
    np.testing.assert_allclose(stds, [100 * np.std([0.8, 0.9], ddof=1), 0], atol=1e-9)
    assert set(panels["ours"]) == {"CLMKL, p = 1"}
    assert panels["paper"]["CLMKL, p = 1"][1][0] == 90.9
    pytest.importorskip("matplotlib")
    path = tmp_path / "figure.svg"
    assert draw_figure(SPLICE, SOURCE, rows, path)
    first = path.read_text()
    assert "training size" in first
    draw_figure(SPLICE, SOURCE, rows, path)
    assert path.read_text() == first


def test_at_one_point_the_figure_shows_leads_in_the_same_repetitions(tmp_path):
    images = EXPERIMENTS["images"]
    rows = make_rows({"MKL": [0.8, 0.9, 0.7], "CLMKL": [0.8, 0.95], "UNIF": [0.7, 0.8, 0.9]}, point="all")
    found = leads(images, rows)
    assert list(found) == ["UNIF", "CLMKL"]
    np.testing.assert_allclose(found["CLMKL"][0], [0.0, 5.0], atol=1e-9)
    np.testing.assert_allclose(found["UNIF"][0], [-10.0, -10.0, 20.0])
    assert found["CLMKL"][1] == pytest.approx(0.26)
    assert found["UNIF"][1] is None
    assert not draw_figure(images, SOURCE, [], tmp_path / "none.svg")
    pytest.importorskip("matplotlib")
    path = tmp_path / "figure.svg"
    assert draw_figure(images, SOURCE, rows, path)
    assert "points of accuracy above MKL" in path.read_text()


def test_a_turned_figure_has_the_methods_along_its_axis(tmp_path):
    unlabelled = EXPERIMENTS["unlabelled"]
    rows = make_rows({"CLMKL, u = 0": [0.8, 0.9], "CLMKL, u = all": [0.9, 0.9]})
    rows += make_rows({"CLMKL, u = 0": [0.9, 0.9]}, point=100)
    panels = curves(unlabelled, rows)
    assert list(panels) == ["ours"]
    ticks, means, _ = panels["ours"]["training size 50"]
    assert ticks == ["u = 0", "u = all"]
    np.testing.assert_allclose(means, [85, 90])
    assert panels["ours"]["training size 100"][0] == ["u = 0"]
    pytest.importorskip("matplotlib")
    assert draw_figure(unlabelled, SOURCE, rows, tmp_path / "figure.svg")
    assert "u, rows without labels" in (tmp_path / "figure.svg").read_text()
