"""Tables as hospitals have them: gaps, marks for gaps, codes, dates, names of rows, words."""

import numpy as np
import pandas as pd
import pytest

import localmkl
from localmkl.cli.columns import as_read
from localmkl.cli.files import Asked, read_labelled, read_rows
from localmkl.kernels import RBF, Overlap

N, NEW = 100, 20
LEFT = {
    "patient": "names the rows",
    "admitted": "holds dates",
    "ward": "holds one value",
    "notes": "holds text",
    "dose": "holds numbers with commas or %",
    "never_asked": "holds no values",
}


@pytest.fixture
def cohort(tmp_path, monkeypatch):
    """Write a training table and new rows, with gaps in other places; return the complete table."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = N + NEW
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "patient": [f"P{i:03}" for i in range(n)],
            "age": rng.normal(60, 9, n).round() + 5 * y,
            "crp": (rng.gamma(2.0, 4.0, n) + 3 * y).round(1),
            "cp": rng.integers(1, 5, n),
            "smoking": rng.choice(["never", "never", "unknown", "current"], n),
            "admitted": pd.date_range("2024-01-01", periods=n).strftime("%d.%m.%Y"),
            "ward": "A",
            "notes": [f"note {row}" for row in range(n)],
            "dose": [f"{row % 7},{row % 10}" for row in range(n)],
            "never_asked": "",
            "outcome": np.where(y, "sick", "well"),
        }
    )
    spoiled = frame.astype(object)
    spoiled.loc[3:9, "age"] = ""
    spoiled.loc[[1, 5, 20], "crp"] = "?"
    spoiled.loc[4, "crp"] = "unknown"
    spoiled.loc[[7, 8], "smoking"] = "NA"
    spoiled.loc[9, "smoking"] = "?"
    spoiled.loc[[30, 31], "admitted"] = ""
    spoiled.loc[N : N + 2, ["cp", "smoking"]] = ""
    spoiled.loc[N + 3 : N + 9, "crp"] = "-"
    spoiled[:N].to_csv("t.csv", index=False)
    spoiled[N:].drop(columns="outcome").to_csv("new.csv", index=False)
    return frame


def read(**options):
    return read_labelled("t.csv", Asked(target="outcome", **options))


def test_gaps_are_read_as_missing_and_counted(cohort):
    content = read()
    assert content.gaps == {"age": 7, "crp": 4, "smoking": 3}
    assert content.rows["crp"].dtype == float
    assert set(content.rows["smoking"]) == {"never", "current", "unknown", None}
    crp = cohort["crp"][:N].drop([1, 4, 5, 20])
    assert content.fills()["crp"] == [4, crp.median()]
    assert content.fills()["smoking"] == [3, "never"]


def test_columns_that_are_no_use_are_left_out_and_said_once(cohort):
    content = read()
    assert content.left_out == LEFT
    assert list(content.used().rows.columns) == ["age", "crp", "cp", "smoking"]
    said = "\n".join(content.said)
    assert all(said.count(name) >= 1 for name in LEFT)
    assert "Left out (names the rows): patient; --names patient writes it" in said
    assert "--names" not in "\n".join(read(names="patient").said)


def test_codes_are_numbers_unless_they_are_named_as_categories(cohort):
    content = read()
    assert content.rows["cp"].dtype.kind == "i"
    assert any("read as numbers: cp; --categories cp" in said for said in content.said)
    content = read(categories=("cp",))
    assert set(content.rows["cp"]) == {"1", "2", "3", "4"}
    assert "cp" in content.used().rows
    assert not any("--categories" in said for said in content.said)
    with pytest.raises(ValueError, match=r"must have the column 'agee', .*did you mean 'age'"):
        read(categories=("agee",))


def test_gaps_are_filled_by_the_training_rows_at_prediction_too(cohort):
    content = read()
    kernels = [RBF(columns=["age", "crp", "cp"], impute="median", standardize=True)]
    kernels.append(Overlap(["smoking"], impute="most_frequent"))
    columns = list(content.used().rows.columns)
    train = as_read(content, columns, kernels)
    model = localmkl.MKLClassifier(kernels).fit(train.rows, train.y)
    new = as_read(read_rows("new.csv", Asked(target="outcome")), columns, kernels)
    assert new.gaps == {"crp": 7, "cp": 3, "smoking": 3}
    filled = new.rows.fillna({name: value for name, (_, value) in train.fills().items()})
    filled["cp"] = filled["cp"].fillna(content.rows["cp"].median())
    np.testing.assert_allclose(model.decision_function(new.rows), model.decision_function(filled))


def test_fit_and_predict_take_gaps_without_options(call, cohort):
    said = call("fit", "t.csv", "--target", "outcome", "--method", "mkl", "--C", 1)
    assert "Left out (holds dates): admitted" in said.err
    call("predict", "model.localmkl", "new.csv", "--out", "p.csv")
    assert len(pd.read_csv("p.csv")) == NEW


def test_numbers_that_may_stand_for_gaps_are_said(tmp_path):
    frame = pd.DataFrame({"bp": [120, -9, 131, -9], "change": [-9, -3, 4, 1], "state": ["sick", "well"] * 2})
    frame.to_csv(tmp_path / "heart.csv", index=False)
    content = read_labelled(tmp_path / "heart.csv", Asked(target="state"))
    assert "-9 may stand for a gap in bp; if so, leave these fields empty." in content.notes


def test_a_slip_in_a_column_of_numbers_is_named_with_its_line(cohort):
    frame = pd.read_csv("t.csv", dtype=str, keep_default_na=False)
    frame.loc[50, "crp"] = "<5"
    frame.to_csv("t.csv", index=False)
    with pytest.raises(
        ValueError, match=r"line 52: the column 'crp' must hold numbers, got '<5'; correct it"
    ):
        read()


@pytest.mark.parametrize("weights", [None, [1.0, 1.0, 1.0, 0.0, 5.0]])
def test_a_missing_word_counts_as_the_most_frequent_one(weights):
    words = np.array([["b"], ["b"], ["a"], [None], ["c"]], dtype=object)
    kernel = Overlap(impute="most_frequent").fit(words, sample_weight=weights)
    assert kernel.fills_ == ["b" if weights is None else "c"]
    assert kernel(words, np.array([[None]]))[:, 0].tolist() == kernel(words, [kernel.fills_])[:, 0].tolist()
    assert (kernel.features(words) @ kernel.features(words).T).toarray().tolist() == kernel(words).tolist()
