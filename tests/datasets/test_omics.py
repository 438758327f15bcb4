import pickle
import shutil
import warnings

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from localmkl.datasets import read_views

anndata = pytest.importorskip("anndata")
mudata = pytest.importorskip("mudata")

RNA, PROTEIN = np.array([[1, 0], [0, 2], [3, 0]]), np.array([[0.5, np.nan, 1.0], [1.5, 2.5, 0.0]])


def annotated(matrix, names, **obs):
    variables = pd.DataFrame(index=[f"v{k}" for k in range(matrix.shape[1])])
    return anndata.AnnData(matrix, obs=pd.DataFrame(obs, index=list(names)), var=variables)


@pytest.fixture
def files(tmp_path):
    """Return a folder with a file of each kind."""
    rna = annotated(sparse.csc_matrix(RNA), "abc", batch=pd.Categorical(["x", None, "y"]), age=[40, 50, 60])
    rna.write_h5ad(tmp_path / "x.h5ad")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = mudata.MuData({"rna": rna, "protein": annotated(PROTEIN, "da", dose=[1, 2])})
        data.write(tmp_path / "x.h5mu")
    return tmp_path


def test_a_file_of_anndata_is_one_view(files):
    views, obs, names = read_views(files / "x.h5ad")
    assert names.tolist() == obs.index.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(views.rows("X").toarray(), RNA)
    assert obs["batch"].tolist() == ["x", None, "y"]
    assert obs.dtypes.tolist() == [object, np.int64]
    assert views.columns("X") == ["v0", "v1"]


def test_a_file_of_mudata_is_a_view_for_each_modality(files):
    views, obs, names = read_views(files / "x.h5mu")
    assert names.tolist() == ["a", "b", "c", "d"]
    assert views.present("rna").tolist() == [True, True, True, False]
    assert views.present("protein").tolist() == [True, False, False, True]
    np.testing.assert_array_equal(views.rows("protein"), PROTEIN[::-1])
    assert obs["rna:batch"].tolist() == ["x", None, "y", None]
    np.testing.assert_array_equal(obs["protein:dose"], [2.0, np.nan, np.nan, 1.0])


def test_a_file_that_is_no_such_file_is_named(files):
    whole = (files / "x.h5ad").read_bytes()
    (files / "cut.h5ad").write_bytes(whole[: len(whole) // 2])
    (files / "text.h5mu").write_text("rna,protein\n")
    with h5py.File(files / "other.h5ad", "w") as file:
        file["matrix"] = RNA
    shutil.copy(files / "x.h5ad", files / "swapped.h5mu")
    for name in ("cut.h5ad", "text.h5mu", "other.h5ad", "swapped.h5mu"):
        with pytest.raises(ValueError, match=rf"{name}' (is cut short or damaged, or|holds) no"):
            read_views(files / name)
    with pytest.raises(ValueError, match=r"must end in \.h5ad or \.h5mu, got '\.h5'"):
        read_views(files / "x.h5")
    with pytest.raises(FileNotFoundError):
        read_views(files / "lost.h5ad")


def test_what_is_wrong_with_samples_is_said(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        annotated(RNA, "aba").write_h5ad(tmp_path / "twice.h5ad")
    with pytest.raises(ValueError, match=r"twice\.h5ad' must have one row for each sample, got several of a"):
        read_views(tmp_path / "twice.h5ad")
    anndata.AnnData(obs=pd.DataFrame(index=["a"])).write_h5ad(tmp_path / "empty.h5ad")
    with pytest.raises(ValueError, match=r"empty\.h5ad' holds no views .*`X` of the AnnData"):
        read_views(tmp_path / "empty.h5ad")
    with h5py.File(tmp_path / "large.h5ad", "w") as file:
        file.create_dataset("X", shape=(10**8, 10**6), dtype="f4", chunks=(1000, 1000), compression="gzip")
    with pytest.raises(MemoryError, match=r"large\.h5ad' needs .* keep fewer samples"):
        read_views(tmp_path / "large.h5ad")


class Planted:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_nothing_in_a_file_is_executed(files):
    planted = pickle.dumps(Planted(files / "planted"))
    with h5py.File(files / "x.h5ad", "a") as file:
        file["uns"].create_dataset("bytes", data=np.void(planted))
        file["uns"].create_dataset("text", data=planted.decode("latin1").replace("\0", " "))
    assert read_views(files / "x.h5ad").names.tolist() == ["a", "b", "c"]
    assert not (files / "planted").exists()
    pickle.loads(planted).close()
    assert (files / "planted").exists()
