"""Several files, views of the same samples, joined by the names of their rows; words and texts in them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import mmwrite

import localmkl
from localmkl import Views
from localmkl.cli.files import Asked
from localmkl.cli.joining import named_files, read_joined
from localmkl.kernels import RBF, Linear, Overlap, Spectrum

N, NEW = 60, 20
JOIN = ("--names", "patient", "--target", "outcome")
KERNELS = "linear view=rna; rbf columns=age view=clinic; overlap view=clinic; spectrum:2 view=sites"


@pytest.fixture
def cohort(tmp_path):
    """Write three views of N + NEW patients, each in an order of its own; return all of it, by name."""
    rng = np.random.default_rng(0)
    names = [f"p{i}" for i in range(N + NEW)]
    y = np.where(rng.random(N + NEW) < 0.5, "sick", "well")
    side = np.where(y == "sick", 1.0, -1.0)
    rna = pd.DataFrame(rng.standard_normal((N + NEW, 4)) + 0.8 * side[:, None], names, list("abcd"))
    clinic = pd.DataFrame({"age": rng.integers(20, 80, N + NEW)}, names)
    clinic["sex"] = rng.choice(["f", "m"], N + NEW)
    clinic["stage"] = np.where(rng.random(N + NEW) < 0.7, np.where(side > 0, "III", "I"), "II")
    clinic["outcome"] = y
    letters = [rng.choice(list("ACGT"), 12, p=[0.4, 0.1, 0.1, 0.4] if s > 0 else [0.25] * 4) for s in side]
    sites = pd.Series(["".join(row) for row in letters], names)
    write(tmp_path, "", rna[:50], clinic[:N], sites[10:N])
    write(tmp_path, "new_", rna[N : N + 15], clinic[N:].drop(columns="outcome"), sites[N + 5 :])
    return {"rna": rna, "clinic": clinic, "sites": sites, "y": pd.Series(y, names)}


def write(folder, prefix, rna, clinic, sites):
    rna.sample(frac=1, random_state=1).rename_axis("patient").to_csv(folder / f"{prefix}rna.csv")
    clinic.sample(frac=1, random_state=2).rename_axis("patient").reset_index().to_parquet(
        folder / f"{prefix}clinic.parquet"
    )
    order = sites.sample(frac=1, random_state=3)
    (folder / f"{prefix}sites.fa").write_text("".join(f">{name} x\n{s}\n" for name, s in order.items()))


def test_files_are_joined_by_name_and_give_the_model_that_python_gives(call, cohort):
    options = (
        *JOIN,
        "--kernels",
        KERNELS,
        "--method",
        "mkl",
        "--C",
        1,
        "--tol",
        1e-10,
        "--out",
        "m.localmkl",
    )
    said = call("fit", "rna.csv", "clinic.parquet", "sites.fa", *options)
    assert "Samples: 60, 40 of them in every view (rna 50, clinic 60, sites 50)." in said.err
    new = ("rna=new_rna.csv", "sites=new_sites.fa", "clinic=new_clinic.parquet")
    said = call("predict", "m.localmkl", *new, "--out", "p.csv")
    assert "Samples: 20, 10 of them in every view" in said.err
    frame = pd.read_csv("p.csv", index_col="patient")

    views, names = localmkl.Views.join({k: pd.DataFrame(cohort[k]) for k in ("rna", "clinic", "sites")})
    made = localmkl.Views(
        {
            "rna": (views.tables["rna"].drop(index=range(50, N)), [*range(50), *range(N, N + NEW)]),
            "clinic": views.tables["clinic"],
            "sites": (cohort["sites"][10:].tolist(), range(10, N + NEW)),
        }
    )
    kernels = [
        Linear(standardize=True, view="rna"),
        RBF(columns=["age"], standardize=True, view="clinic"),
        Overlap(columns=["sex", "stage"], view="clinic"),
        Spectrum(2, view="sites"),
    ]
    model = localmkl.MKLClassifier(kernels, C=1.0, tol=1e-10, loss="log_loss").fit(made[:N], cohort["y"][:N])
    held = made[N:]
    held = localmkl.Views(
        {
            "rna": (held.rows("rna")[:15], range(15)),
            "clinic": held.rows("clinic"),
            "sites": (held.rows("sites")[5:], range(5, NEW)),
        }
    )
    expected = pd.Series(model.decision_function(held), names[N:])
    log_odds = np.log(1 / frame["probability_sick"] - 1)
    np.testing.assert_allclose(log_odds, expected[frame.index], atol=1e-3)
    said = call("predict", "m.localmkl", "clinic=new_clinic.parquet", "--out", "p.csv")
    assert "Samples: 20, 0 of them in every view (rna 0, clinic 20, sites 0)." in said.err
    info = call("info", "rna.csv", "clinic.parquet", "sites.fa", "--names", "patient", "--json").json()
    assert info["rows"] == 60


def test_searches_groups_and_features_take_several_files(call, cohort):
    files = ("rna.csv", "clinic.parquet", "sites.fa")
    call("fit", *files, *JOIN, "--groups", "sex", "--missing", "zero", "--tune", "--C", 1, "--p", "1,2")
    call("predict", "model.localmkl", "rna=new_rna.csv", "clinic=new_clinic.parquet", "--out", "p.csv")
    assert len(pd.read_csv("p.csv")) == NEW
    call("fit", *files, *JOIN, "--rank", 10, "--gate", "rbf view=rna")
    call("predict", "model.localmkl", *files, "--out", "p.csv")


def test_what_names_leave_open_is_said_and_never_guessed(call, cohort):
    clinic = pd.read_parquet("clinic.parquet")
    other = clinic.replace({"patient": {"p0": "P0", "p1": "p_1", "p2": "zz"}})
    other.to_csv("other.csv", index=False)
    assert "Left out, without a label: 3 samples (p" in call("fit", "rna.csv", "other.csv", *JOIN).err
    clinic[["patient", "outcome"]].to_csv("labels.csv", index=False)
    said = call("fit", "rna.csv", "labels.csv", *JOIN).err
    assert "Left out, in no file but that of the labels: 10 samples" in said
    assert "Samples: 50, all of them in every view (rna 50)." in said


def test_gaps_of_views_are_counted_and_filled(call, cohort):
    clinic = pd.read_parquet("clinic.parquet")
    clinic["admitted"] = "2024-05-03"
    clinic.loc[:6, "age"] = np.nan
    clinic.loc[7, "stage"] = None
    clinic.to_csv("gaps.csv", index=False)
    files = named_files(["rna.csv", "clinic=gaps.csv"])
    content = read_joined(files, Asked(target="outcome", names="patient"), labelled=True)
    assert content.gaps == {"clinic: age": 7, "clinic: stage": 1}
    assert content.fills()["clinic: age"] == [7, clinic["age"].median()]
    assert "clinic: Left out (holds dates): admitted" in "\n".join(content.notes)
    assert content.used().parts["clinic"].rows.shape[1] == 3
    call("fit", "rna.csv", "clinic=gaps.csv", *JOIN)
    call("predict", "model.localmkl", "clinic=gaps.csv", "--out", "p.csv")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (
            ("rna.csv", "clinic.parquet", "--target", "outcome"),
            2,
            "give these as --names COLUMN",
        ),
        (("rna.csv", "clinic.parquet", "--names", "patient"), 2, "--target must name a column of one"),
        (("rna.csv", "sites.fa", *JOIN), 1, "none has 'outcome'; 'rna.csv' has a, b, c, d"),
        (("rna.csv", "clinic.parquet", "copy.csv", *JOIN), 1, "'outcome' is in several; keep one"),
        (("rna.csv", "a/rna.csv", *JOIN), 2, "are both 'rna'; give one another name, as NAME=FILE"),
        (("double.csv", "clinic.parquet", *JOIN), 1, "a name, which comes once, got p3"),
        (("gap.csv", "clinic.parquet", *JOIN), 1, "line 3: every row must have a name"),
        (("rna.csv", "unlike.csv", *JOIN), 1, "names must be equal letter by letter"),
        (
            ("rna.csv", "clinic.parquet", *JOIN, "--kernels", "rbf"),
            1,
            "must name its view as view=NAME",
        ),
        (("rna.csv", "clinic.parquet", *JOIN, "--kernels", "rbf view=x"), 1, "rna, clinic, got 'x'"),
        (
            ("rna.csv", "sites.fa", "g.npz", *JOIN),
            2,
            "Gram files, --variable and --negative do not go with other files",
        ),
    ],
)
def test_files_that_cannot_be_joined_are_refused_in_a_sentence(call, cohort, arguments, code, sentence):
    rna = pd.read_csv("rna.csv", dtype=str)
    rna.loc[[0]].assign(outcome="sick").to_csv("copy.csv", index=False)
    rna.assign(patient="p3").to_csv("double.csv", index=False)
    rna.assign(patient=rna["patient"].mask(rna.index == 1)).to_csv("gap.csv", index=False)
    pd.DataFrame({"patient": ["q1", "q2"], "outcome": ["sick", "well"]}).to_csv("unlike.csv", index=False)
    said = call("fit", *arguments, code=code).err
    assert sentence in said
    assert said.count("Error") == 1


def test_a_model_of_views_names_files_that_are_not_its_own(call, cohort):
    call("fit", "rna.csv", "clinic.parquet", *JOIN)
    said = call("predict", "model.localmkl", "new_rna.csv", "--names", "patient", code=1).err
    assert "new_rna'; name the view of a file as" in said
    assert "got a FASTA file" in call("predict", "model.localmkl", "rna=sites.fa", code=1).err


def test_words_texts_and_gaps_of_one_table(call, tmp_path):
    rng = np.random.default_rng(0)
    n = 60
    y = rng.integers(0, 2, n)
    table = pd.DataFrame({"age": rng.standard_normal(n) + y, "site": np.where(y, "colon", "lung"), "y": y})
    table["code"] = np.where(rng.random(n) < 0.6, y, 3)
    table["notes"] = [f"a {'quiet' if k else 'noisy'} night {row}" for row, k in enumerate(y)]
    table.loc[4, "age"] = np.nan
    table.to_csv("t.csv", index=False)
    spec = "overlap columns=site,code; tfidf column=notes; rbf columns=age impute=mean"
    call("fit", "t.csv", "--target", "y", "--kernels", spec, "--method", "mkl")
    model = localmkl.load("model.localmkl")
    assert [type(kernel).__name__ for kernel in model.kernels_] == ["Overlap", "TfIdf", "RBF"]
    assert model.kernels_[0].categories_[1] == ["0", "1", "3"]
    table.drop(columns="y").assign(code="3", site="bone", age="").to_csv("new.csv", index=False)
    call("predict", "model.localmkl", "new.csv", "--out", "p.csv")
    assert len(pd.read_csv("p.csv")) == n
    call("fit", "t.csv", "--target", "y", "--kernels", "linear columns=notes", code=1)


def test_matrix_market_and_omics_files_from_fit_to_predictions(call, tmp_path):
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    obs = pd.DataFrame({"state": np.where(y, "sick", "well")}, [f"p{i}" for i in range(60)])
    counts = sparse.csr_matrix(rng.poisson(0.2 + 0.4 * y[:, None], (60, 50)).astype(float))
    genes = pd.DataFrame(index=[f"g{k}" for k in range(50)])
    cells = anndata.AnnData(counts, obs=obs, var=genes)
    cells[:40].copy().write_h5ad("cells.h5ad")
    cells[40:, ::-1].copy().write_h5ad("later.h5ad")
    mmwrite("words.mtx", counts[20:].T)
    (tmp_path / "words.names").write_text("\n".join(obs.index[20:]))

    call("fit", "cells.h5ad", "--target", "state", "--method", "mkl")
    said = call("predict", "model.localmkl", "cells=later.h5ad", "--out", "p.csv")
    assert "Samples: 20, all of them in every view (cells 20)." in said.err
    model = localmkl.load("model.localmkl")
    expected = model.predict(Views({"cells": cells[40:]}))
    assert pd.read_csv("p.csv")["predicted"].tolist() == expected.tolist()

    said = call("fit", "cells.h5ad", "words.mtx", "--target", "state")
    assert "Left out, without a label: 20 samples" in said.err
    assert "Samples: 40, 20 of them in every view (cells 40, words 20)." in said.err
    call("predict", "model.localmkl", "cells=words.mtx", code=1)
    half = cells[:30, :9].copy()
    half.var_names = [f"h{k}" for k in range(9)]
    both = mudata.MuData({"rna": cells, "half": half})
    both.obs["state"] = obs["state"]
    both.write_h5mu("both.h5mu")
    assert "(rna 60, half 30)" in call("fit", "both.h5mu", "--target", "state").err
    call("predict", "model.localmkl", "both.h5mu", "--out", "p.csv")
    both.obs.loc[both.obs_names[:4], "state"] = np.nan
    both.write_h5mu("some.h5mu")
    assert " on 56 of 60 rows" in call("predict", "model.localmkl", "some.h5mu", "--out", "p.csv").err
    (tmp_path / "words.names").unlink()
    assert (
        "in a file of its name that ends in .names" in call("fit", "words.mtx", "--target", "x", code=1).err
    )


def test_columns_of_obs_are_named_where_target_or_groups_are_none_of_them(call):
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(30)]
    obs = pd.DataFrame({"label": rng.choice(["a", "b"], 30), "batch": rng.choice(["x", "y"], 30)}, names)
    rna = anndata.AnnData(rng.normal(size=(30, 3)), obs=obs)
    prot = anndata.AnnData(rng.normal(size=(30, 4)), obs=pd.DataFrame(index=names))
    prot.var_names = [f"p{k}" for k in range(4)]
    rna.write_h5ad("rna.h5ad")
    mudata.MuData({"rna": rna, "prot": prot}).write_h5mu("both.h5mu")
    said = call("fit", "both.h5mu", "--target", "rna:labl", code=1).err
    assert "none has 'rna:labl'; 'both.h5mu' has rna:label, rna:batch; did you mean 'rna:label'?" in said
    said = call("fit", "both.h5mu", "--target", "rna:label", "--groups", "bach", code=1).err
    assert "none has 'bach'; 'both.h5mu' has rna:label, rna:batch" in said
    assert "'rna.h5ad' has label, batch." in call("fit", "rna.h5ad", code=2).err


def test_only_samples_that_are_used_need_a_group_and_those_without_are_named(call):
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(40)]
    obs = pd.DataFrame({"label": ["a", "b"] * 20, "batch": ["x", "x", "y", "y"] * 10}, names)
    both = {
        "rna": anndata.AnnData(rng.normal(size=(30, 3)), obs=obs[:30]),
        "prot": anndata.AnnData(rng.normal(size=(40, 4)), obs=pd.DataFrame(index=names)),
    }
    both["prot"].var_names = [f"p{k}" for k in range(4)]
    mudata.MuData(both).write_h5mu("both.h5mu")
    order = ["--target", "rna:label", "--groups", "rna:batch"]
    said = call("fit", "both.h5mu", *order).err
    assert "Left out, without a label: 10 samples (c30, c31" in said
    obs.loc["c7", "batch"] = None
    both["rna"].obs = obs[:30].copy()
    mudata.MuData(both).write_h5mu("gap.h5mu")
    said = call("fit", "gap.h5mu", *order, code=1).err
    assert said == "Error: Every sample must have a group, 'rna:batch' has none of 1 sample (c7).\n"
    pd.DataFrame(rng.normal(size=(40, 2)), names).rename_axis("name").to_csv("rows.csv")
    order = ["--target", "label", "--groups", "batch", "--names", "name"]
    obs.loc["c7", "label"] = None
    obs.rename_axis("name").to_csv("obs.csv")
    assert "without a label: 1 sample (c7)." in call("fit", "rows.csv", "obs.csv", *order, "--force").err
