"""Files as users have them, small, and a way to call the command line."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from localmkl.cli import app
from localmkl.datasets import load_splice, make_localized

N_TRAIN, N_ALL = 90, 130


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Return a function that runs a command in an empty folder and returns its result."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0, bare=True):
        """Run a command; a `bare` fit neither searches nor judges unless the command asks for it."""
        arguments = [str(argument) for argument in arguments]
        if bare and arguments[0] == "fit" and "--tune" not in arguments:
            arguments += ["--no-tune"] if "--folds" in arguments else ["--no-tune", "--folds", "0"]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == code, (result.output, result.exception)
        return SimpleNamespace(
            out=result.stdout, err=result.stderr, json=lambda: json.loads(result.stdout), path=tmp_path
        )

    return run


@pytest.fixture(scope="session")
def localized():
    return make_localized(N_ALL, random_state=0)


@pytest.fixture(scope="session")
def patients(localized):
    """A table with names, a text column, six groups of columns and a label."""
    names = [
        f"view{j}_{k}" for j, view in enumerate(localized.views) for k in range(len(localized.X[0][view]))
    ]
    frame = pd.DataFrame(localized.X, columns=names)
    frame.insert(0, "id", [f"patient {i}" for i in range(N_ALL)])
    frame["city"] = "Ulm"
    frame["state"] = np.where(localized.y > 0, "sick", "well")
    return frame


@pytest.fixture
def table(tmp_path, patients):
    """Return the paths of a training table, and of new rows with and without their labels."""
    paths = SimpleNamespace(
        train=tmp_path / "train.csv", test=tmp_path / "test.tsv", new=tmp_path / "new.parquet"
    )
    patients[:N_TRAIN].to_csv(paths.train, index=False)
    patients[N_TRAIN:].to_csv(paths.test, index=False, sep="\t")
    patients[N_TRAIN:].drop(columns="state").to_parquet(paths.new)
    return paths


@pytest.fixture
def fasta(tmp_path):
    """Return the paths of labelled and of unlabelled splice sites, three classes."""
    data = load_splice()
    chosen = np.random.default_rng(0).choice(len(data.sequences), N_ALL, replace=False)
    paths = SimpleNamespace(
        train=tmp_path / "sites.fa", new=tmp_path / "new.fasta", labels=tmp_path / "new.txt"
    )
    records = [f">site{i} label={data.y[i]}\n{data.sequences[i]}\n" for i in chosen[:N_TRAIN]]
    paths.train.write_text("".join(records))
    paths.new.write_text("".join(f">site{i}\n{data.sequences[i]}\n" for i in chosen[N_TRAIN:]))
    paths.labels.write_text("".join(f"site{i}\t{data.y[i]}\n" for i in chosen[N_TRAIN:]))
    return paths


@pytest.fixture
def grams(tmp_path, localized):
    """Return the paths of all Grams with labels, and of cross-Grams in MATLAB's order of axes."""
    from scipy.io import savemat

    stack = np.stack([localized.X[:, view] @ localized.X[:, view].T for view in localized.views])
    paths = SimpleNamespace(
        all=tmp_path / "grams.npz", cross=tmp_path / "cross.mat", train=tmp_path / "train.npy"
    )
    np.savez(paths.all, K=stack, disease=localized.y)
    savemat(paths.cross, {"K": np.moveaxis(stack[:, N_TRAIN:, :N_TRAIN], 0, 2)})
    np.save(paths.train, stack[:, :N_TRAIN, :N_TRAIN])
    paths.labels = tmp_path / "labels.txt"
    paths.labels.write_text("\n".join(map(str, localized.y[:N_TRAIN].tolist())))
    return paths
