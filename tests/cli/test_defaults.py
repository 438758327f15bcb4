"""What is chosen where nothing is named: candidates of searches, folds, kernels, and known groups."""

from itertools import product
from math import inf
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import localmkl
from localmkl.cli import tuning
from localmkl.kernels import Linear

N_TRAIN, N_ALL = 90, 130  # of the files in conftest
VIEWS = "linear each=" + ",".join(f"view{j}_*" for j in range(6))


def every(grids):
    return [dict(zip(grid, values, strict=True)) for grid in grids for values in product(*grid.values())]


def tried(values=tuning.QUICK, *, method="CLMKL", by_groups=False, **given):
    known = getattr(localmkl, f"{method}Classifier")().get_params(deep=False)
    return every(tuning.candidates(known, given, values, by_groups=by_groups))


@pytest.mark.parametrize("method", ["CLMKL", "HLMKL"])
@pytest.mark.parametrize("values", [tuning.QUICK, tuning.FULL])
def test_every_search_has_unif_and_mkl_among_its_candidates_and_none_twice(method, values):
    found = tried(values, method=method)
    everywhere = [(one["p"], one["C"]) for one in found if one["shared"] == 1.0]
    assert {(inf, 10.0), (4 / 3, 10.0)} <= set(everywhere)
    assert len(everywhere) == len(set(everywhere)) < len(found) < 100
    assert len({tuple(sorted(one.items())) for one in found}) == len(found)


def test_with_groups_few_kernels_are_among_the_candidates():
    local = [one for one in tried(tuning.GROUPED, by_groups=True) if one["shared"] != 1.0]
    assert {one["p"] for one in local} == {1.0, 4 / 3}
    assert all("evenness" not in one for one in local)


def test_an_option_with_one_value_fixes_its_parameter():
    assert {one["C"] for one in tried(C=[3.0])} == {3.0}
    assert {one["p"] for one in tried(p=[2.0])} == {2.0}
    assert all("shared" not in one and one["evenness"] == 0.4 for one in tried(evenness=[0.4]))
    assert all("evenness" not in one for one in tried(shared=[1.0]))
    assert {one["shared"] for one in tried(shared=[0.2, 1.0])} == {0.2, 1.0}
    assert {one.get("n_clusters", 5) for one in tried(n_clusters=[5])} == {5}
    assert len(tried(C=[1.0], p=[1.0], evenness=[0.5])) == 1


def test_fit_searches_by_default(call, table):
    options = ("fit", table.train, "--target", "state", "--names", "id", "--kernels", VIEWS, "--p", 1)
    said = call(*options, "--json", bare=False)
    record = said.json()["model"]
    assert record["search"]["candidates"] >= 9
    assert record["parameters"]["C"] == record["search"]["chosen"]["C"]
    assert not list(said.path.glob("*.checkpoint"))
    single = call(*options, "--C", 1, "--evenness", 0.5, "--folds", 2, "--json", bare=False)
    assert single.json()["model"]["search"] is None  # nothing is left to choose


def test_an_infinite_p_is_written_and_read(call, table):
    options = ("fit", table.train, "--target", "state", "--kernels", VIEWS, "--p", "inf", "--shared", 1)
    said = call(*options, "--json")
    assert said.json()["model"]["parameters"]["p"] == "inf"
    assert "equal weights for all kernels" in call("info", "model.localmkl").out


def test_what_is_not_searched_by_default_is_printed(call, table, patients, monkeypatch):
    few = patients[:N_TRAIN].copy()
    few["state"] = np.where(np.arange(N_TRAIN) < 2, "rare", few["state"])
    few.to_csv("few.csv", index=False)
    options = ("--target", "state", "--names", "id", "--kernels", VIEWS, "--p", 1)
    said = call("fit", "few.csv", *options, bare=False).err
    assert "The class 'rare' has 2 rows, too few for cross-validation." in said
    monkeypatch.setattr(tuning, "QUICK_ENTRIES", 1)
    assert "Clusters are not tried: 6 kernels" in call("fit", table.train, *options, bare=False).err
    monkeypatch.setattr(tuning, "MOST_ENTRIES", 1)
    assert "Not tuned: 6 kernels on 90 rows" in call("fit", table.train, *options, bare=False).err


def test_folds_have_their_part_of_every_class_in_every_group():
    y, groups = np.repeat(["a", "b", "a", "b"], [20, 10, 10, 5]), np.repeat(["g", "h"], [30, 15])
    content = SimpleNamespace(y=y, groups=groups)
    splits, _ = tuning.split(SimpleNamespace(content=content, regression=False, seed=0), 5)
    for _, test in splits:
        assert pd.Series(y[test] + groups[test]).value_counts().to_dict() == {
            "ag": 4,
            "bg": 2,
            "ah": 2,
            "bh": 1,
        }


@pytest.fixture
def hospitals(table, patients):
    """Write groups into the training table and the new rows; return these groups."""
    groups = np.where(np.arange(N_ALL) % 3 > 0, "Ulm", "Bonn")
    patients.assign(city=groups)[:N_TRAIN].to_csv(table.train, index=False)
    patients.assign(city=groups)[N_TRAIN:].to_csv(table.test, index=False, sep="\t")
    return groups


def check_like_python(frame, localized, groups, X=None):
    """Compare predictions with those of the same model in Python."""
    X = localized.X if X is None else X
    kernels = [Linear(columns=view) for view in localized.views]
    model = localmkl.CLMKLClassifier(kernels, loss="log_loss", gate="groups", shared=0.5, p=1, tol=1e-8)
    model.set_params(C=localmkl.load("model.localmkl").C)
    model.fit(X[:N_TRAIN], localized.y[:N_TRAIN], groups=groups[:N_TRAIN])
    chances = model.predict_proba(X[N_TRAIN:], groups=groups[N_TRAIN:])
    ours = frame.filter(like="probability_").to_numpy()
    np.testing.assert_allclose(np.abs(ours[:, 0] - 0.5), np.abs(chances[:, 0] - 0.5), atol=1e-3)


GROUPED = ("--shared", 0.5, "--p", 1, "--tol", 1e-8)


def test_a_column_of_a_table_holds_groups(call, table, hospitals, localized):
    X = (localized.X - localized.X[:N_TRAIN].mean(axis=0)) / localized.X[:N_TRAIN].std(axis=0)
    options = ("--target", "state", "--names", "id", "--groups", "city", "--kernels", VIEWS)
    said = call("fit", table.train, *options, *GROUPED)
    assert "city-specific weights, half shared (shared 0.5)" in said.out
    call("predict", "model.localmkl", table.test, "--out", "p.csv")
    check_like_python(pd.read_csv("p.csv"), localized, hospitals, X)


def test_a_variable_of_a_gram_file_holds_groups(call, grams, localized):
    groups = np.where(np.arange(N_ALL) % 3 > 0, "Ulm", "Bonn")
    stack = np.stack([localized.X[:, view] @ localized.X[:, view].T for view in localized.views])
    np.savez(grams.all, K=stack, city=groups, disease=localized.y)
    options = ("--target", "disease", "--groups", "city", "--rows", f"0:{N_TRAIN}")
    call("fit", grams.all, *options, *GROUPED)
    np.savez("new.npz", K=stack[:, N_TRAIN:, :N_TRAIN], city=groups[N_TRAIN:])
    frame = pd.DataFrame(call("predict", "model.localmkl", "new.npz", "--json").json())
    check_like_python(frame, localized, groups)
    assert call("predict", "model.localmkl", grams.all, "--out", "p.csv").err.startswith("AUC ")


def test_headers_of_fasta_files_hold_groups(call, fasta):
    text = fasta.train.read_text().splitlines()
    lines = [line + f" kind={'mouse' if k % 4 else 'human'}" * (k % 2 == 0) for k, line in enumerate(text)]
    fasta.train.write_text("\n".join(lines) + "\n")
    said = call("fit", fasta.train, "--groups", "kind", "--kernels", "wd:3", "--shared", 0.5)
    assert "kind-specific weights" in said.out
    assert "New groups: None;" in call("predict", "model.localmkl", fasta.new, "--out", "p.csv").err
    fasta.train.write_text("\n".join(lines).replace(" kind=human", "", 1) + "\n")
    assert (
        "must have a value for groups, 'kind', got none"
        in call("fit", fasta.train, "--groups", "kind", code=1).err
    )
