"""Who is in a cluster."""

import numpy as np
import pytest
from scipy import sparse, stats

from localmkl import CLMKLClassifier, HLMKLClassifier, HLMKLRegressor, Views
from localmkl.datasets import make_localized
from localmkl.inference import describe_clusters
from localmkl.inference.differences import adjusted_p_values, numeric_effects, share_effects
from localmkl.kernels import Linear, WeightedDegree


def test_adjusted_p_values_are_scipys():
    p_values = np.random.default_rng(0).uniform(size=50) ** 3
    assert adjusted_p_values(p_values) == pytest.approx(stats.false_discovery_control(p_values))


def test_effects_of_numbers_are_cohens_d_and_mann_and_whitneys_test():
    rng = np.random.default_rng(0)
    table, inside = rng.normal(size=(40, 3)), np.arange(40) < 15
    table[inside, 1] += 1.0
    found = numeric_effects(table, inside)
    for column in range(3):
        one, other = table[inside, column], table[~inside, column]
        pooled = np.sqrt((14 * one.var(ddof=1) + 24 * other.var(ddof=1)) / 38)
        assert found["effect"][column] == pytest.approx((one.mean() - other.mean()) / pooled)
        larger = (one[:, None] > other).mean() - (one[:, None] < other).mean()
        assert found["rank_biserial"][column] == pytest.approx(larger)
        assert found["p_value"][column] == pytest.approx(
            stats.mannwhitneyu(one, other, method="asymptotic").pvalue
        )


def test_missing_cells_are_left_out():
    table = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 1.0], [4.0, 2.0], [5.0, 3.0]])
    inside = np.array([True, True, True, False, False])
    found = numeric_effects(table, inside)
    assert found["inside"].tolist() == [1.5, 1.0]
    assert found["rank_biserial"].tolist() == [-1.0, -1.0]


def test_effects_of_shares_have_exact_p_values():
    rng = np.random.default_rng(0)
    table, inside = rng.random((30, 5)) < 0.4, np.arange(30) < 12
    found = share_effects(table, inside)
    for column in range(5):
        cells = [[(table[inside == a, column] == b).sum() for b in (True, False)] for a in (True, False)]
        tails = [stats.fisher_exact(cells, alternative=side).pvalue for side in ("less", "greater")]
        assert found["p_value"][column] == pytest.approx(min(1.0, 2 * min(tails)))
        assert found["effect"][column] == pytest.approx(
            cells[0][0] / sum(cells[0]) - cells[1][0] / sum(cells[1])
        )


def test_the_false_discovery_rate_is_kept_where_nothing_differs():
    rng = np.random.default_rng(0)
    inside = np.arange(60) < 20
    found = [
        (adjusted_p_values(numeric_effects(rng.normal(size=(60, 30)), inside)["p_value"]) <= 0.1).any()
        for _ in range(200)
    ]
    assert np.mean(found) <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 200)


def test_the_columns_that_show_the_groups_are_found_first():
    X, y = make_localized(150, random_state=0)[:2]
    model = HLMKLClassifier([Linear(columns=slice(0, 4)), Linear()], gate_kernel=0, random_state=0).fit(X, y)
    traits = describe_clusters(model, X, y)
    assert traits.counts.sum() == 150
    for cluster in traits.clusters:
        found = traits.found(cluster)
        assert found[0].name in {"column 0", "column 1", "column 2"}
        assert abs(found[0].effect) > 1.0
        assert found[0].q_value <= 0.05
    other = describe_clusters(model, sparse.csr_matrix(X), y)
    assert [trait.name for trait in other.found()] == [trait.name for trait in traits.found()]
    assert len(traits.rows()) == 3 * (24 + 2)


def test_columns_and_categories_of_data_frames_have_their_names():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    groups = np.repeat(["u", "v"], 40)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=80) + 3.0 * (groups == "u"),
            "site": np.where(groups == "u", "colon", "lung"),
            "g": groups,
        }
    )
    y = np.where(rng.random(80) < 0.5, "yes", "no")
    model = HLMKLClassifier([Linear(columns=["size"])], gate="groups", groups="g").fit(frame, y)
    traits = describe_clusters(model, frame, y)
    assert traits.clusters == ["u", "v"]
    found = {(trait.kind, trait.name): trait for trait in traits.found("u")}
    assert found["category", "site = colon"].effect == 1.0
    assert found["column", "size"].effect > 1.0
    assert {trait.name for trait in traits.traits if trait.kind == "label"} == {"yes", "no"}


def test_letters_of_sequences_are_found_at_their_positions():
    rng = np.random.default_rng(0)
    letters = rng.choice(list("ACGT"), size=(60, 8))
    letters[:30, 2:4] = ["G", "T"]
    letters[30:, 2:4] = ["A", "A"]
    X, y = ["".join(row) for row in letters], rng.choice([0, 1], size=60)
    groups = np.repeat([0, 1], 30)
    model = HLMKLClassifier([WeightedDegree(2)], gate="groups").fit(X, y, groups=groups)
    found = describe_clusters(model, X, y, groups=groups).found("0")
    assert {"GT at 3", "G at 3", "T at 4", "A at 3"} <= {trait.name for trait in found if trait.effect}
    assert {trait.kind for trait in found} == {"k-mer"}
    longer = [*X[:-1], X[-1] + "A"]
    words = describe_clusters(model, longer, y, groups=groups).found("0")
    assert "GT" in {trait.name for trait in words}


def test_views_are_described_by_the_samples_that_have_them():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 30)
    rna = rng.normal(size=(40, 2))
    views = Views({"rna": (rna, np.arange(40)), "clinic": rng.normal(size=(60, 1))})
    y = rng.choice([0, 1], size=60)
    model = HLMKLClassifier([Linear(view="rna"), Linear(view="clinic")], gate="groups")
    traits = describe_clusters(model.fit(views, y, groups=groups), views, y, groups=groups)
    names = {trait.name for trait in traits.traits if trait.cluster == "0"}
    assert names == {"0", "1", "has rna", "rna: column 0", "rna: column 1", "clinic: column 0"}
    assert "has rna" in {trait.name for trait in traits.found("0")}


def test_targets_of_a_regression_are_compared_by_their_means():
    data = make_localized(90, regression=True, random_state=0)
    model = HLMKLRegressor(random_state=0).fit(data.X, data.y)
    labels = [trait for trait in describe_clusters(model, data.X, data.y).traits if trait.kind == "label"]
    assert [trait.name for trait in labels] == ["target"] * 3


def test_grams_alone_leave_the_labels_to_describe(make_problem, make_model):
    stack, y, _ = make_problem(60)
    traits = describe_clusters(make_model().fit(stack, y), stack, y)
    assert {trait.kind for trait in traits.traits} == {"label"}


def test_a_wrong_number_of_targets_is_refused():
    X, y = make_localized(60, random_state=0)[:2]
    model = CLMKLClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="must have as many rows"):
        describe_clusters(model, X, y[:50])
