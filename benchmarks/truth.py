"""Is what matters true? The first line that a user reads, held against new rows.

Each case fits a model on a part of the rows and takes `HeldOut.matters` from them alone. Then come new rows.

first three    The first three names of `matters` are among the five names with the largest effects of the
               same model on new rows (`decided_on`).
planted first  In generated hospitals with 80 rows or more, the first name among a hospital's entries is the
               column whose effect was planted there alone.
sure           What is called sure is true. In generated sets: the column moves the outcome in that place (a
               claim about one hospital needs an effect there, a claim about everywhere one in all). In
               others: a model of the same parameters, fitted to the other half of the rows, gives the column
               at least half the low end of its interval, on rows held out.
by weights     The first three kernels by weight are among the five kernels with the largest effects on new
               rows. That is how the package ranked before.

Sets: breast cancer, diabetes (above the median or not), wine, heart disease in four hospitals (where its
files are there), and twenty generated sets of patients in four hospitals.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import StratifiedShuffleSplit

from localmkl import CLMKLClassifier, MKLClassifier
from localmkl.datasets import data_home
from localmkl.explain import kernel_names, kernel_shares
from localmkl.inference import decided_on, held_out
from localmkl.inference.heldout import EVERYWHERE
from localmkl.kernels import default_kernels

HOSPITALS = {"Basel": 0.36, "Lyon": 0.30, "Torino": 0.21, "Graz": 0.13}
OWN = {"Basel": "creatinine", "Lyon": "lactate", "Torino": "hemoglobin", "Graz": "bp"}
SHARED = {"age": 0.6, "crp": 0.8, "albumin": -0.45}
NUMBERS = (*SHARED, *OWN.values(), "bmi", "sodium", "potassium", "platelets")


def hospitals(n, seed, own=1.2):
    """Return patients, whether they came back, and a dict of the columns that matter in each place."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.normal(size=n) for name in NUMBERS})
    table["smoking"] = rng.choice(["never", "former", "current"], n, p=[0.5, 0.3, 0.2])
    hospital = rng.choice(list(HOSPITALS), n, p=list(HOSPITALS.values()))
    odds = table[list(SHARED)].to_numpy() @ np.array(list(SHARED.values())) + 0.7 * (
        table["smoking"] == "current"
    )
    for name, column in OWN.items():
        odds = odds + own * np.where(hospital == name, table[column], 0.0)
    for column in ("crp", "lactate", "creatinine"):
        table[column] = np.round(np.exp(table[column] / 2.0) * 8.0, 1)
    table.loc[rng.random(n) < 0.05, "bmi"] = np.nan
    table["hospital"] = hospital
    planted = {EVERYWHERE: {*SHARED, "smoking"}}
    planted |= {name: {*SHARED, "smoking", column} for name, column in OWN.items()}
    return table, (rng.random(n) < 1.0 / (1.0 + np.exp(-odds))).astype(int), planted


def real_sets():
    """Return name, table and labels of sets that are there."""
    cancer, sugar, wine = (load(as_frame=True) for load in (load_breast_cancer, load_diabetes, load_wine))
    yield "breast cancer", cancer.data, cancer.target.to_numpy()
    yield "diabetes", sugar.data, (sugar.target > sugar.target.median()).astype(int).to_numpy()
    yield "wine", wine.data, wine.target.to_numpy()
    folder = Path(data_home()) / "groups" / "heart"
    if folder.is_dir():
        parts = [
            pd.read_csv(path, na_values=["?", "-9"]).assign(hospital=path.stem)
            for path in sorted(folder.glob("*.data"))
        ]
        heart = pd.concat(parts, ignore_index=True)
        table = heart.drop(columns=["X14", "X11", "X12", "X13"])
        yield "heart", table, (heart["X14"] > 0).astype(int).to_numpy()


def fitted(table, y):
    """Return a model of the table with the usual kernels: by hospital, half shared, where there are some."""
    kernels = default_kernels(table.drop(columns="hospital", errors="ignore"), impute="median")
    if "hospital" in table:
        model = CLMKLClassifier(kernels, gate="groups", groups="hospital", shared=0.5, loss="log_loss", C=1.0)
    else:
        model = MKLClassifier(kernels, loss="log_loss", C=1.0)
    return model.fit(table, y)


def names_of(matters, count):
    """Return the first names of what matters, each once."""
    return list(dict.fromkeys(one.kernel for one in matters))[:count]


def by_weights(model, count):
    """Return the names of the first kernels by weight, each once."""
    weights = kernel_shares(model).max(axis=0)
    return [kernel_names(model)[m] for m in np.argsort(-weights)[:count]]


def case(name, train, new, planted=None, seed=0):
    """Return one row of the table: what was claimed on training rows, and what new rows say."""
    model = fitted(*train)
    held = held_out(model, *train, rivals=False, random_state=seed)
    found, there = held.matters(), decided_on(model, *new)
    row = {
        "set": name,
        "first_three": set(names_of(found, 3)) <= set(names_of(there.matters(), 5)),
        "by_weights": set(by_weights(model, 3)) <= set(names_of(there.matters("kernel"), 5)),
        "planted_hits": 0,
        "planted_groups": 0,
    }
    sure = [one for one in found if one.sure]
    if planted is None:
        refit = held_out(fitted(*new), *new, rivals=False, random_state=seed)
        shares = {(one.kernel, one.part, one.decision): one.share for one in refit.matters(absent=True)}
        true = [shares[one.kernel, one.part, one.decision] >= 0.5 * one.low for one in sure]
    else:
        true = [one.kernel in planted[one.part] for one in sure]
    row |= {
        "sure": len(sure),
        "true": int(np.sum(true)),
        "false": [f"{one.kernel} in {one.part}" for one, ok in zip(sure, true, strict=True) if not ok],
    }
    for group in HOSPITALS if planted else ():
        if np.sum(train[0]["hospital"] == group) >= 80:
            own = [one for one in found if one.part == group]
            row["planted_groups"] += 1
            row["planted_hits"] += bool(own) and own[0].kernel == OWN[group]
    return row


def run(smoke):
    """Return a row for each set, and one for all."""
    rows = cases(smoke)
    names = list(dict.fromkeys(row["set"] for row in rows))
    found = [{"data": name, **summary([row for row in rows if row["set"] == name])} for name in names]
    return [*found, {"data": "all", **summary(rows)}]


def cases(smoke, n_generated=20, n_splits=5):
    """Return a row for each case."""
    rows = []
    for seed in range(1 if smoke else n_generated):
        train, new = hospitals(300, 1000 + seed), hospitals(600 if smoke else 3000, 3000 + seed)
        rows.append(case("generated hospitals", train[:2], new[:2], train[2], seed))
    for name, table, y in () if smoke else real_sets():
        strata = y if "hospital" not in table else table["hospital"].astype(str) + y.astype(str)
        splitter = StratifiedShuffleSplit(n_splits, test_size=0.5, random_state=0)
        for seed, (train, new) in enumerate(splitter.split(table, strata)):
            parts = [(table.iloc[rows_].reset_index(drop=True), y[rows_]) for rows_ in (train, new)]
            rows.append(case(name, *parts, seed=seed))
    return rows


def summary(rows):
    """Return the shares of the claims that hold over some cases."""
    total = {key: sum(row[key] for row in rows) for key in ("planted_hits", "planted_groups", "sure", "true")}
    return {
        "cases": len(rows),
        "first three": float(np.mean([row["first_three"] for row in rows])),
        "first three by weights": float(np.mean([row["by_weights"] for row in rows])),
        "planted first": total["planted_hits"] / total["planted_groups"] if total["planted_groups"] else None,
        "groups": total["planted_groups"],
        "sure and true": total["true"] / total["sure"] if total["sure"] else None,
        "sure": total["sure"],
        "false": "; ".join(name for row in rows for name in row["false"]),
    }
