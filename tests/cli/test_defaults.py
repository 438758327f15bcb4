"""Commands without options: which kernels they take, what they search, and what they say about it."""

from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from localmkl.cli.tell import describe_data

import localmkl
from localmkl.cli import tuning
from localmkl.cli.columns import column_groups
from localmkl.cli.files import SEQUENCES, TABLE, Content
from localmkl.cli.kernels import choose_kernels, default_kernels
from localmkl.kernels import Linear

N_TRAIN, N_ALL = 90, 130  # of the files in conftest
VIEWS = "linear each=" + ",".join(f"view{j}_*" for j in range(6))


@pytest.mark.parametrize(
    ("sequences", "words"),
    [
        (["ACGTACGTAA", "ACGTTCGTAA"], "wd:1-8; wd:4,8 shift=5; spectrum:4-6 (dna)"),
        (["ACGUA", "ACGUU"], "wd:1-5; wd:4 shift=5; spectrum:4,5 (rna)"),
        (["ACG", "CCG"], "wd:1-3 (dna)"),
        (["ACGTACGTAA", "ACGTACGTAAA"], "spectrum:1-8 (dna)"),
        (["MKVLAWPGHEL", "MKVLAWPGHELK"], "spectrum:1-3; pseaac:1,4,10 (protein)"),
    ],
)
def test_sequences_get_kernels_in_place_and_anywhere(sequences, words):
    content = Content(Path("s.fa"), SEQUENCES, np.array(sequences, dtype=object), None)
    given, said = default_kernels(content)
    assert said == words
    assert len(choose_kernels(content).names) == sum(len(wanted.values) for wanted in given)


@pytest.mark.parametrize(
    ("names", "patterns", "rest"),
    [
        ("mrna_1 mrna_2 age meth_1 meth_2", ["mrna_*", "meth_*"], ["age"]),
        ("a.x a.y b.x b.y", ["a.*", "b.*"], []),
        ("cg01 cg02 ENSG1 ENSG2", ["cg*", "ENSG*"], []),
        ("mean_radius mean_area radius_error area_error", ["mean_*", "*_error"], []),
        ("x1 x2 x3", [], ["x1", "x2", "x3"]),
        ("a_1 a_2 b_1 b_2 p q r s t", [], ["a_1", "a_2", "b_1", "b_2", "p", "q", "r", "s", "t"]),
    ],
)
def test_columns_are_grouped_by_their_names(names, patterns, rest):
    names = names.split()
    assert column_groups(names, names) == (patterns, rest)


def test_a_pattern_that_takes_other_columns_too_makes_no_group():
    names = ["a_1", "a_2", "b_1", "b_2"]
    assert column_groups(names, [*names, "a_text"]) == ([], names)


@pytest.mark.parametrize("columns", ["m_1 m_2 k_1 k_2 age|in|years dose", "age sex blood|pressure"])
def test_the_words_that_info_suggests_are_the_default_kernels(columns):
    columns = [name.replace("|", " ") for name in columns.split()]
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(9, len(columns))), columns=columns)
    content = Content(Path("t.csv"), TABLE, frame, None)
    record, text = describe_data(content)
    default, named = choose_kernels(content), choose_kernels(content, record["kernels"])
    assert [repr(kernel) for kernel in named.kernels] == [repr(kernel) for kernel in default.kernels]
    assert named.names == default.names
    assert f'--kernels "{record["kernels"]}"' in text


def every(grids):
    return [dict(zip(grid, values, strict=True)) for grid in grids for values in product(*grid.values())]


@pytest.mark.parametrize("method", ["CLMKL", "HLMKL"])
@pytest.mark.parametrize("values", [tuning.QUICK, tuning.FULL])
def test_every_search_has_unif_and_mkl_among_its_candidates_and_none_twice(method, values):
    known = getattr(localmkl, f"{method}Classifier")().get_params(deep=False)
    found = every(tuning.candidates(known, {}, values))
    everywhere = [(one["p"], one["C"]) for one in found if one["shared"] == 1.0]
    assert {(inf, 10.0), (4 / 3, 10.0)} <= set(everywhere)
    assert len(everywhere) == len(set(everywhere)) < len(found) < 100
    assert len({tuple(sorted(one.items())) for one in found}) == len(found)


def test_an_option_with_one_value_fixes_its_parameter():
    known = localmkl.CLMKLClassifier().get_params(deep=False)

    def tried(**given):
        return every(tuning.candidates(known, given, tuning.QUICK))

    assert {one["C"] for one in tried(C=[3.0])} == {3.0}
    assert {one["p"] for one in tried(p=[2.0])} == {2.0}
    assert all("shared" not in one and one["evenness"] == 0.4 for one in tried(evenness=[0.4]))
    assert all("evenness" not in one for one in tried(shared=[1.0]))
    assert {one["shared"] for one in tried(shared=[0.2, 1.0])} == {0.2, 1.0}
    assert {one.get("n_clusters", 5) for one in tried(n_clusters=[5])} == {5}
    assert len(tried(C=[1.0], p=[1.0], evenness=[0.5])) == 1


def test_fit_searches_by_default_and_says_what_it_chose(call, table):
    options = ("fit", table.train, "--target", "state", "--names", "id", "--kernels", VIEWS, "--p", 1)
    said = call(*options, bare=False)
    assert "Searching by roc_auc: C 1, 10, 100; p 1; shared 1, 0, 0.5; evenness 0.5; --no-tune" in said.err
    assert "Chosen by 5-fold cross-validation, AUC 0." in said.err
    assert not list(said.path.glob("*.checkpoint"))
    record = call("info", "model.localmkl", "--json").json()
    assert record["tuned"]["candidates"] >= 9
    assert record["parameters"]["C"] == record["tuned"]["chosen"]["C"]
    bare = call(*options, "--C", 1, "--evenness", 0.5, bare=False)
    assert "Searching" not in bare.err  # nothing is left to choose


def test_an_infinite_p_is_written_and_read(call, table):
    options = ("fit", table.train, "--target", "state", "--kernels", VIEWS, "--p", "inf", "--shared", 1)
    assert call(*options, "--json").json()["parameters"]["p"] == "inf"
    named = call("predict", "model.localmkl", table.new).out
    call("fit", table.train, "--target", "state", "--kernels", VIEWS, "--method", "unif", "-q")
    ours, theirs = ([float(row.split(",")[2]) for row in text.splitlines()[1:]] for text in (
        named, call("predict", "model.localmkl", table.new).out))  # fmt: skip
    np.testing.assert_allclose(ours, theirs, atol=1e-2)


def test_a_best_value_at_the_end_of_the_users_list_is_said(call, table):
    options = ("tune", table.train, "--target", "state", "--kernels", VIEWS, "--method", "unif", "--folds", 2)
    said = call(*options, "--C", "1e-7,1e-6").err
    assert "is the smallest tried; try smaller ones by --C." in said or "largest tried; try larger" in said
    assert "followed" not in said


def test_what_is_not_searched_by_default_is_said(call, table, patients, monkeypatch):
    few = patients[:N_TRAIN].copy()
    few["state"] = np.where(np.arange(N_TRAIN) < 2, "rare", few["state"])
    few.to_csv("few.csv", index=False)
    options = ("--target", "state", "--names", "id", "--kernels", VIEWS, "--p", 1)
    said = call("fit", "few.csv", *options, bare=False).err
    assert "The class 'rare' has 2 rows, too few for cross-validation: not tuned." in said
    monkeypatch.setattr(tuning, "QUICK_ENTRIES", 1)
    said = call("fit", table.train, *options, "--C", 1, bare=False).err
    assert "Clusters are not tried: 6 kernels on 90 rows take long; 'localmkl tune'" in said
    monkeypatch.setattr(tuning, "MOST_ENTRIES", 1)
    assert "Not tuned: 6 kernels on 90 rows take long" in call("fit", table.train, *options, bare=False).err


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
    model = localmkl.CLMKLClassifier(
        [Linear(columns=view) for view in localized.views], gate="groups", shared=0.5, p=1, tol=1e-8
    ).fit(X[:N_TRAIN], localized.y[:N_TRAIN], groups=groups[:N_TRAIN])
    scores = model.decision_function(X[N_TRAIN:], groups=groups[N_TRAIN:])
    np.testing.assert_allclose(np.abs(frame["score"]), np.abs(scores), atol=1e-4)
    np.testing.assert_allclose(frame["membership_shared"], 0.5)
    np.testing.assert_allclose(frame["membership_Ulm"], 0.5 * (groups[N_TRAIN:] == "Ulm"))


GROUPED = ("--shared", 0.5, "--p", 1, "--tol", 1e-8)


def test_a_column_of_a_table_holds_groups(call, table, hospitals, localized):
    X = (localized.X - localized.X[:N_TRAIN].mean(axis=0)) / localized.X[:N_TRAIN].std(axis=0)
    options = ("--target", "state", "--names", "id", "--groups", "city", "--kernels", VIEWS)
    said = call("fit", table.train, *options, *GROUPED)
    assert "\nUlm " in said.out
    call("predict", "model.localmkl", table.test, "--out", "p.csv")
    check_like_python(pd.read_csv("p.csv"), localized, hospitals, X)
    strangers = pd.read_csv(table.test, sep="\t").assign(city="Kiel")
    strangers.to_csv("kiel.csv", index=False)
    said = call("predict", "model.localmkl", "kiel.csv", "--out", "p.csv").err
    assert "groups that the model has not seen (Kiel); they get the shared part and equal shares" in said
    said = call("fit", table.train, *options, "--p", 1, "--C", 1, bare=False).err
    assert "shared 1, 0, 0.5; --no-tune" in said


def test_a_variable_of_a_gram_file_holds_groups(call, grams, localized):
    groups = np.where(np.arange(N_ALL) % 3 > 0, "Ulm", "Bonn")
    stack = np.stack([localized.X[:, view] @ localized.X[:, view].T for view in localized.views])
    np.savez(grams.all, K=stack, city=groups, disease=localized.y)
    options = ("--target", "disease", "--groups", "city", "--rows", f"0:{N_TRAIN}")
    call("fit", grams.all, *options, *GROUPED)
    np.savez("new.npz", K=stack[:, N_TRAIN:, :N_TRAIN], city=groups[N_TRAIN:])
    frame = pd.DataFrame(call("predict", "model.localmkl", "new.npz", "--json").json())
    check_like_python(frame, localized, groups)
    assert "accuracy" in call("predict", "model.localmkl", grams.all, "--out", "p.csv").err
    call("report", "model.localmkl", grams.all, "--out", "r.html", "--folds", 0, "--no-baselines")


def test_headers_of_fasta_files_hold_groups(call, fasta):
    text = fasta.train.read_text().splitlines()
    lines = [
        line + f" organism={'mouse' if k % 4 else 'human'}" * (k % 2 == 0) for k, line in enumerate(text)
    ]
    fasta.train.write_text("\n".join(lines) + "\n")
    said = call("fit", fasta.train, "--groups", "organism", "--kernels", "wd:3", "--shared", 0.5)
    assert "\nmouse " in said.out
    said = call("predict", "model.localmkl", fasta.new, "--out", "p.csv")
    assert "they get the shared part" in said.err
    assert np.allclose(pd.read_csv("p.csv")[["membership_human", "membership_mouse"]], 0.25)
    fasta.train.write_text("\n".join(lines).replace(" organism=human", "", 1) + "\n")
    assert "must have `organism=...`" in call("fit", fasta.train, "--groups", "organism", code=1).err


def test_folds_have_their_part_of_every_class_in_every_group():
    y = np.repeat(["a", "b", "a", "b"], [20, 10, 10, 5])
    content = Content(Path("x"), TABLE, y, y, groups=np.repeat(["g", "h"], [30, 15]))
    assert len(np.unique(tuning._alike(content, True, 5))) == 4
    assert tuning._alike(content, True, 6) is y
    assert len(np.unique(tuning._alike(content, False, 15))) == 2
    assert tuning._alike(content, False, 16) is None  # groups too small for the folds


def test_two_clusters_are_searched_with_memberships_that_differ():
    known = localmkl.CLMKLClassifier().get_params(deep=False)
    for values in (tuning.QUICK, tuning.FULL):
        for n_clusters, fewest in ((1, 1.0), (2, 0.5), (3, 1 / 3)):
            found = tuning.candidates(known, {"n_clusters": [n_clusters]}, values)[1]["evenness"]
            assert found == [1.0] if n_clusters == 1 else fewest < min(found) <= max(found) < 1.0
