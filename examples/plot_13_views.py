"""
Three views, a third of the samples incomplete
==============================================

Measurements come as one file for each kind, in different orders, and some patients lack some of them. From
such files to a model and a report.
"""

# %%
# Three files: expression of 20 genes, age and stage with the outcome, and notes in words. Expression says
# something, the notes as much. A third of 90 patients lack expression or notes.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from localmkl import MKLClassifier, Views
from localmkl.datasets import read_table
from localmkl.kernels import RBF, Linear, Overlap, TfIdf
from localmkl.plots import plot_weights
from localmkl.report import write_report

rng = np.random.default_rng(0)
n = 90
sick = rng.random(n) < 0.5
names = np.array([f"p{i:03d}" for i in range(n)])
rna = pd.DataFrame(rng.standard_normal((n, 20)), names, [f"gene{k}" for k in range(20)])
rna.iloc[:, :4] += 0.4 * np.where(sick, 1, -1)[:, None]
words = np.array(["calm", "tired", "fever", "cough", "pain", "well", "sleep", "walk"])
odds = {True: [1, 3, 3, 3, 3, 1, 1, 1], False: [2, 2, 1, 1, 1, 3, 3, 3]}
said = [rng.choice(words, 6, p=np.divide(odds[one], 16)) for one in sick.tolist()]
notes = pd.DataFrame({"notes": [" ".join(text) for text in said]}, names)
clinic = pd.DataFrame({"age": rng.integers(20, 90, n), "outcome": np.where(sick, "sick", "well")}, names)
clinic["stage"] = np.where(rng.random(n) < 0.3, np.where(sick, "III", "I"), "II")

folder = Path(tempfile.mkdtemp())
for name, table in {"rna": rna[:75], "clinic": clinic, "notes": notes[15:]}.items():
    table.sample(frac=1, random_state=1).rename_axis("patient").to_csv(folder / f"{name}.csv")

# %%
# Each file is read as it is; `Views.join` finds by the names who has which view. (On the command line:
# ``localmkl fit rna.csv clinic.csv notes.csv --names patient --target outcome``.)

tables = {
    name: read_table(folder / f"{name}.csv", text=["patient"]).frame.set_index("patient")
    for name in ("clinic", "rna", "notes")
}
y = tables["clinic"].pop("outcome")
X, patients = Views.join(tables)
y = y[patients].to_numpy()
print(X)

# %%
# Kernels name their view. A patient who lacks one says nothing through its kernels; what the others say is
# scaled up. We compare with what people do else, drop incomplete patients or use the complete view alone, on
# the same test patients: five times five folds.

kernels = [
    Linear(standardize=True, view="rna"),
    RBF(standardize=True, view="rna"),
    Linear(columns=["age"], standardize=True, view="clinic"),
    Overlap(columns=["stage"], view="clinic"),
    TfIdf(view="notes"),
]
complete = X.share(X.names) == 1.0
model, alone = MKLClassifier(kernels), MKLClassifier(kernels[2:4])
right = np.zeros((3, 5, n))
for repetition in range(5):
    folds = StratifiedKFold(5, shuffle=True, random_state=repetition)
    for train, test in folds.split(np.zeros(n), y):
        ways = (model, train), (model, train[complete[train]]), (alone, train)
        for way, (kind, rows) in enumerate(ways):
            right[way, repetition, test] = clone(kind).fit(X[rows], y[rows]).predict(X[test]) == y[test]

shares = {"all": right.mean(axis=(1, 2)), "the complete": right[:, :, complete].mean(axis=(1, 2))}
shares["the incomplete"] = right[:, :, ~complete].mean(axis=(1, 2))
pd.DataFrame(shares, ["trained on all patients", "on the complete ones", "on the clinic alone"]).round(3)

# %%
# Which view matters?

model.fit(X, y)
fig, ax = plt.subplots(figsize=(6, 1.8), layout="constrained")
plot_weights(model, ax=ax)
plt.show()

# %%
# What does each kernel say about a patient who lacks the notes?

lacking = int(np.flatnonzero(~X.present("notes"))[0])
said_by = model.contributions(X[[lacking]]).sum(axis=1)[0]
pd.Series(said_by, ["rna, line", "rna, Gaussian", "age", "stage", "notes"]).round(3)

# %%
# The report says who has which view, and how good predictions are by the views that patients have.

path = write_report(model, folder / "report.html", X, y, names=patients, cv=2)
print(path.name)

# %%
# Here incomplete patients are worth three points, for complete patients too. It need not be so: where the
# view that some lack says nearly everything, a model of the complete ones can be better.
