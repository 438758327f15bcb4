"""Samples that lack views: what is dropped, what each way of dealing with it reads, and the differences."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from localmkl import MKLClassifier
from localmkl.experiments import EXPERIMENTS, run_experiment
from localmkl.experiments.figures import curves
from localmkl.experiments.incomplete import (
    Words,
    drop_views,
    load_quick_omics,
    load_quick_stories,
    side_by_side,
    weigh_words,
    whole,
)
from localmkl.experiments.protocol import Method
from localmkl.experiments.summary import difference, to_csv, to_markdown
from localmkl.views import Views

OMICS, STORIES = (EXPERIMENTS[name].quickened() for name in ("omics", "stories"))


def test_a_share_of_the_samples_loses_views_none_loses_all_and_more_contains_less():
    some, more = (drop_views(200, 3, share, np.random.default_rng(3)) for share in (0.2, 0.6))
    assert np.sum(~some.all(axis=1)) == 40
    assert np.sum(~more.all(axis=1)) == 120
    assert more.any(axis=1).all()
    lost = ~some.all(axis=1)
    np.testing.assert_array_equal(some[lost], more[lost])
    assert len(np.unique(more, axis=0)) == 7
    assert drop_views(50, 3, 0.0, np.random.default_rng(0)).all()


def test_training_and_test_rows_lose_the_same_share_and_other_repetitions_lose_others():
    data = load_quick_omics()
    task, other = data.task(40, 0), data.task(40, 1)
    assert [int(np.sum(~task.complete[rows])) for rows in (task.train, task.test)] == [24, 24]
    assert not np.array_equal(task.complete, other.complete)
    np.testing.assert_array_equal(task.train, other.train)
    redrawn = replace(data, redrawn=True)
    train, test = redrawn.task(0, 0).train, redrawn.task(0, 0).test
    assert sorted([*train, *test]) == list(range(120))
    assert not np.array_equal(train, redrawn.task(0, 1).train)


def test_outer_folds_test_every_story_once_in_every_draw():
    data = replace(load_quick_stories(), n_draws=2)
    for draw in (0, 1):
        tested = np.concatenate([data.task("all", 3 * draw + k).test for k in range(3)])
        assert sorted(tested.tolist()) == list(range(60))
    with pytest.raises(ValueError, match="There are 6 outer folds, repetition 6 is none of them"):
        data.task("all", 6)


def test_words_are_weighed_by_the_training_rows_alone():
    rng = np.random.default_rng(0)
    counts = sparse.csr_array(rng.poisson(0.5, size=(30, 20)).astype(float))
    kernel = Words().fit(counts[:20])
    table = weigh_words().fit(counts[:20]).transform(counts)
    np.testing.assert_allclose(kernel(counts), (table @ table.T).toarray(), atol=1e-12)
    np.testing.assert_allclose(kernel.diag(counts), np.diag(kernel(counts)))
    views = Views({"a": counts})
    model = MKLClassifier([Words(view="a")]).fit(views[:20], np.arange(20) % 2)
    other = Views({"a": sparse.vstack([counts[:20], 9.0 * counts[20:][::-1]], format="csr")})
    again = MKLClassifier([Words(view="a")]).fit(other[:20], np.arange(20) % 2)
    np.testing.assert_array_equal(model.dual_coef_, again.dual_coef_)


def test_views_stand_side_by_side_with_gaps_or_zeros_where_one_is_missing():
    dense = Views({"a": (np.ones((2, 2)), [0, 2]), "b": np.full((3, 1), 5.0)})
    np.testing.assert_array_equal(side_by_side(dense), [[1, 1, 5], [np.nan, np.nan, 5], [1, 1, 5]])
    counts = Views({"a": (sparse.csr_array(np.ones((2, 2))), [0, 2]), "b": sparse.csr_array([[5.0]] * 3)})
    assert sparse.issparse(whole(counts, "a"))
    np.testing.assert_array_equal(side_by_side(counts).toarray(), [[1, 1, 5], [0, 0, 5], [1, 1, 5]])


def test_each_way_reads_the_rows_that_it_names():
    task = load_quick_omics().task(40, 0)
    methods = {
        way: Method(way, "MKL", {"C": (1.0,)}, {"way": way})
        for way in ("rescale", "zero", "complete", "mean")
    }
    used = {}
    for way, method in methods.items():
        rows, search = task._search(method, way, 0)
        used[way] = rows, search.estimator
    assert used["zero"][1].missing == "zero"
    assert used["mean"][0].share(list(task.views.names)).min() == 1.0
    assert all(kernel.impute == "mean" for kernel in used["mean"][1].kernels)
    assert all(kernel.impute is None for kernel in used["rescale"][1].kernels)
    complete, rescale = (task.outcomes([methods[way]], 0)[0] for way in ("complete", "rescale"))
    assert (complete["n_used"], rescale["n_used"]) == (36, 60)
    assert sum(number for _, number in complete["patterns"].values()) == 60
    right = sum(right for right, _ in complete["patterns"].values())
    assert complete["accuracy"] == pytest.approx(right / 60)


def test_where_nothing_is_missing_all_ways_are_the_same(tmp_path):
    few = replace(OMICS, methods=tuple(method for method in OMICS.methods if method.family == "UNIF"))
    rows = run_experiment(few, few.sources[0], tmp_path, repetitions=1, n_jobs=1)
    at = {(row["method"], row["point"]): row for row in rows}
    assert len({at[method.label, 0]["score"] for method in few.methods}) == 1
    assert len({at[method.label, 40]["score"] for method in few.methods}) > 1
    assert not [row for row in rows if "error" in row]


def test_the_summary_has_accuracy_by_number_of_views_and_differences_of_pairs(tmp_path):
    few = replace(
        STORIES, methods=tuple(m for m in STORIES.methods if m.family in ("UNIF", "logistic regression"))
    )
    few = replace(few, pairs=(("UNIF, rescale", "UNIF, zero"), ("UNIF, rescale", "MKL, rescale")))
    rows = run_experiment(few, few.sources[0], tmp_path, repetitions=2, n_jobs=1)
    text = to_markdown(few, few.sources[0], rows)
    assert "Accuracy on stories of two newspapers, in percent:" in text
    mean, error, _ = difference(rows, "UNIF, rescale", "UNIF, zero", "all")
    (line,) = (line for line in text.splitlines() if line.startswith("| UNIF, rescale - UNIF, zero"))
    assert f"{mean:+.1f} ± {error:.1f}" in line
    (line,) = (line for line in text.splitlines() if line.startswith("| UNIF, rescale - MKL, rescale"))
    assert line.split("|")[2].strip() == "-"
    found = list(csv.DictReader(io.StringIO(to_csv(few, few.sources[0], rows))))
    assert {line["method"]: line["worst_gap"] for line in found}["logistic regression, zero"] == ""
    assert "largest relative duality gap of a chosen fit" in text
    scores, means, _ = curves(few, rows)["ours"]["UNIF, rescale"]
    assert scores[0] == "accuracy"
    assert means[0] == pytest.approx(
        100 * np.mean([r["score"] for r in rows if r["method"] == "UNIF, rescale"])
    )


def needs(name):
    missing = EXPERIMENTS[name].sources[0].missing()
    return pytest.mark.skipif(bool(missing), reason=f"not in the data home: {', '.join(missing)}")


@needs("stories")
def test_the_stories_are_those_of_three_newspapers():
    data = EXPERIMENTS["stories"].sources[0].load()
    counts = (3 * data.views.share(data.views.names)).round().astype(int)
    assert np.bincount(counts).tolist() == [0, 53, 194, 169]
    assert sorted(np.unique(data.y, return_counts=True)[1].tolist()) == [49, 54, 60, 60, 89, 104]


@needs("omics")
def test_the_omics_keep_the_published_split():
    data = EXPERIMENTS["omics"].sources[0].load()
    task = data.task(0, 0)
    assert (len(task.train), len(task.test), len(task.kernels)) == (245, 106, 6)
    assert task.complete.all()
    assert [data.y[rows].sum() for rows in (task.train, task.test)] == [127, 55]
