"""Rows as other packages hold them: frames of polars and pyarrow, AnnData and MuData."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localmkl import CLMKLClassifier, MKLClassifier, UniformMKLClassifier, Views, load, save
from localmkl.kernels import RBF, Linear, Overlap, Spectrum
from localmkl.model_selection import MKLSearchCV, nested_cross_validate
from localmkl.views import as_views

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

RNG = np.random.default_rng(0)
SITE = np.where(RNG.random(60) < 0.5, "colon", "lung").astype(object)
FRAME = pd.DataFrame({"age": RNG.normal(size=60), "dose": RNG.integers(0, 9, 60), "site": SITE})
Y = np.where(FRAME["age"] + (SITE == "lung") + 0.3 * RNG.normal(size=60) > 0.5, "ill", "well")
GAPS = FRAME.assign(
    age=FRAME["age"].where(RNG.random(60) < 0.8), site=FRAME["site"].where(RNG.random(60) < 0.8, None)
)
KERNELS = [
    Linear(columns=["age", "dose"], impute="median"),
    RBF(columns="age", impute="mean"),
    Overlap("site"),
]


def as_polars(frame):
    columns = {name: [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame}
    return pl.DataFrame(columns)


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime, pl.Duration])
def test_missing_dates_of_polars_are_no_numbers(kind):
    frame = pl.DataFrame({"age": FRAME["age"].to_numpy(), "when": pl.Series([None, *range(59)]).cast(kind)})
    for refused in (
        lambda: Linear("when")(frame, frame),
        lambda: MKLClassifier([RBF(columns="when"), Linear("age")]).fit(frame, Y),
    ):
        with pytest.raises(ValueError, match="needs numeric columns, got dates or times in column 'when'"):
            refused()


def as_arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


FOREIGN = pytest.mark.parametrize("foreign", [as_polars, as_arrow])


@FOREIGN
def test_frames_of_other_packages_are_read_as_those_of_pandas(foreign, tmp_path):
    model, ours = (MKLClassifier(KERNELS).fit(frame, Y) for frame in (foreign(GAPS), GAPS))
    expected = ours.decision_function(GAPS)
    np.testing.assert_allclose(model.decision_function(foreign(GAPS)), expected, rtol=1e-9)
    np.testing.assert_allclose(
        model.contributions(foreign(GAPS[:5])), ours.contributions(GAPS[:5]), atol=1e-9
    )
    save(model, tmp_path / "model.localmkl")
    np.testing.assert_allclose(
        load(tmp_path / "model.localmkl").decision_function(foreign(GAPS)), expected, rtol=1e-9
    )
    assert model.feature_names_in_.tolist() == ["age", "dose", "site"]
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(foreign(GAPS[["dose", "age", "site"]]))
    with pytest.raises(ValueError, match=r"contains NaN in row \d+, column 'age'; fill it"):
        MKLClassifier([Linear(columns=["age"])]).fit(foreign(GAPS), Y)


@FOREIGN
def test_scikit_learn_and_searches_slice_frames_of_other_packages(foreign):
    model, grid = MKLClassifier(KERNELS), {"C": [0.1, 1.0]}
    rows, y = foreign(GAPS), (pl.Series(Y) if foreign is as_polars else pa.chunked_array([Y]))
    np.testing.assert_allclose(cross_val_score(model, rows, y, cv=3), cross_val_score(model, GAPS, Y, cv=3))
    theirs, ours = (search(model, grid, cv=3).fit(rows, y) for search in (GridSearchCV, MKLSearchCV))
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.04
    )
    np.testing.assert_array_equal(ours.predict(rows), ours.predict(GAPS))
    search = MKLSearchCV(UniformMKLClassifier([Linear("age", view="a")]), {"C": [1.0]}, cv=2)
    assert nested_cross_validate(search, {"a": foreign(FRAME)}, y, cv=2)["test_score"].min() > 0.5
    train, test, y_train, y_test = train_test_split(rows, y, random_state=0)
    assert model.fit(train, y_train).score(test, y_test) > 0.6
    numbers = foreign(FRAME[["age", "dose"]])
    assert make_pipeline(StandardScaler(), MKLClassifier()).fit(numbers, y).score(numbers, y) > 0.6


@FOREIGN
def test_groups_are_a_column_of_a_frame_or_stand_beside_it(foreign):
    frame = foreign(FRAME)
    named = CLMKLClassifier([Linear(["age", "dose"])], gate="groups", groups="site").fit(frame, Y)
    beside = CLMKLClassifier([Linear(["age", "dose"])], gate="groups").fit(frame, Y, groups=SITE)
    expected = named.decision_function(frame)
    np.testing.assert_allclose(beside.decision_function(frame, groups=SITE), expected, atol=1e-6)
    viewed = CLMKLClassifier([Linear(["age", "dose"], view="a")], gate="groups")
    viewed.fit({"a": frame}, Y, groups=SITE)
    np.testing.assert_allclose(viewed.decision_function({"a": frame}, groups=SITE), expected, atol=1e-6)


def test_categories_decimals_and_columns_of_other_packages():
    words = pl.DataFrame({"site": SITE, "stage": ["II", "III", None] * 20})
    expected = MKLClassifier().fit(Views({"words": words.to_pandas()}), Y).decision_function
    for kinds in ({"site": pl.Categorical, "stage": pl.Enum(["II", "III"])}, {}):
        views = Views({"words": words.cast(kinds)})
        np.testing.assert_allclose(
            MKLClassifier().fit(views, Y).decision_function(views), expected(Views({"words": words}))
        )
    numbers = pl.DataFrame({"dose": FRAME["dose"]}).cast(pl.Decimal(10, 2))
    assert Views({"a": numbers}).rows("a").dtypes.tolist() == [np.float64]
    batch, column = pa.RecordBatch.from_pandas(FRAME), pl.Series("age", FRAME["age"]).cast(pl.Decimal(10, 2))
    views = Views({"batch": batch, "column": column, "words": pa.chunked_array([SITE])})
    assert [views.columns(name) for name in views.names] == [["age", "dose", "site"], ["age"], [""]]
    assert isinstance(views.rows("column")["age"].iloc[0], float)
    several = [pl.DataFrame({"x": FRAME["age"]}), as_arrow(FRAME[["dose"]])]
    assert MKLClassifier([Linear(view="0"), Linear(view="1")]).fit(several, Y).predict(several).shape == (60,)
    sequences = pl.DataFrame({"letters": ["ACGT", "TTTT"] * 30})
    assert (
        UniformMKLClassifier([Spectrum(2)]).fit(sequences, ["a", "b"] * 30).score(sequences, ["a", "b"] * 30)
    )


def test_what_cannot_be_read_of_another_package_is_said(monkeypatch):
    with pytest.raises(ValueError, match=r"got a polars LazyFrame; call its `collect\(\)` first"):
        MKLClassifier().fit(pl.DataFrame({"a": [1.0, 2.0]}).lazy(), ["a", "b"])
    with pytest.raises(ValueError, match=r"must be in memory, got a polars LazyFrame"):
        Views({"a": pl.DataFrame({"a": [1.0]}).lazy()})
    with pytest.raises(
        ValueError, match="columns of a pyarrow Table must have different names, got 'a' twice"
    ):
        MKLClassifier().fit(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), ["a"])
    with pytest.raises(ValueError, match="must have an index of the names of its samples"):
        Views.join({"a": pl.DataFrame({"a": [1.0]})})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ImportError, match=r"A polars DataFrame needs the package pyarrow.*localmkl\[frames\]"
    ):
        MKLClassifier().fit(pl.DataFrame({"a": [1.0, 2.0]}), ["a", "b"])


def test_frames_of_pandas_are_taken_as_they_are(monkeypatch):
    monkeypatch.setattr("localmkl._foreign.import_extra", None)
    assert as_views(FRAME) is FRAME
    assert as_views({"a": FRAME}).rows("a") is FRAME


COUNTS, PROTEIN = RNG.poisson(1.0, size=(60, 5)), RNG.normal(size=(60, 3))
NAMES = np.array([f"cell {number}" for number in range(60)])
TYPES = np.where(COUNTS[:, 0] + PROTEIN[:, 0] > 1.0, "T", "B")
OMICS_KERNELS = [Linear(view="rna"), RBF(view="rna"), Linear(view="protein")]


def annotated(matrix, names, **options):
    anndata = pytest.importorskip("anndata")
    variables = pd.DataFrame(index=[f"v{k}" for k in range(matrix.shape[1])])
    return anndata.AnnData(matrix, obs=pd.DataFrame(index=names), var=variables, **options)


def multimodal(**options):
    mudata = pytest.importorskip("mudata")
    order = RNG.permutation(60)[:45]
    parts = {
        "rna": annotated(sparse.csr_matrix(COUNTS), NAMES),
        "protein": annotated(PROTEIN[order], NAMES[order]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mudata.MuData(parts, **options), np.isin(np.arange(60), order)


def test_modalities_are_views_by_the_names_of_samples(tmp_path):
    data, has = multimodal()
    views = Views({"rna": sparse.csr_matrix(COUNTS), "protein": (PROTEIN[has], has)})
    assert Views(data).present("protein").tolist() == has.tolist()
    model = MKLClassifier(OMICS_KERNELS, tol=1e-6).fit(data, TYPES)
    expected = MKLClassifier(OMICS_KERNELS, tol=1e-6).fit(views, TYPES).decision_function(views)
    np.testing.assert_allclose(model.decision_function(data), expected, atol=1e-9)
    save(model, tmp_path / "model.localmkl")
    np.testing.assert_allclose(
        load(tmp_path / "model.localmkl").decision_function(data[:7]), expected[:7], atol=1e-9
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(MKLClassifier(OMICS_KERNELS), data, TYPES, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(MKLClassifier(OMICS_KERNELS), views, TYPES, cv=3))
    assert MKLSearchCV(MKLClassifier(OMICS_KERNELS), {"C": [1.0]}, cv=3).fit(data, TYPES).best_score_ > 0.6


def test_variables_are_found_by_name():
    data = annotated(sparse.csr_matrix(COUNTS), NAMES)
    model = MKLClassifier([Linear(), RBF()]).fit(data, TYPES)
    expected = model.decision_function(data)
    np.testing.assert_allclose(model.decision_function(data[:, ::-1]), expected)
    np.testing.assert_allclose(model.decision_function({"X": annotated(COUNTS, NAMES)}), expected)
    with pytest.raises(ValueError, match="View 'X' must have the columns of the fit, got no v4"):
        model.predict(data[:, :4])
    joined, names = Views.join({"rna": data, "clinic": FRAME.set_index(NAMES[::-1])[:9]})
    assert names.tolist() == NAMES.tolist()
    assert joined.present("clinic").tolist() == [False] * 51 + [True] * 9
    backwards = joined.arranged({"clinic": None, "rna": [f"v{k}" for k in (4, 3, 2, 1, 0)]})
    np.testing.assert_array_equal(backwards.followed_by(joined).rows("rna").toarray()[60:], COUNTS[:, ::-1])


def test_what_cannot_be_read_of_annotated_data_is_said(tmp_path):
    data, _ = multimodal()
    annotated(PROTEIN, NAMES).write_h5ad(tmp_path / "x.h5ad")
    backed = pytest.importorskip("anndata").read_h5ad(tmp_path / "x.h5ad", backed="r")
    with pytest.raises(ValueError, match=r"View 'X' must be in memory, .* call `to_memory\(\)` first"):
        Views(backed)
    backed.file.close()
    with pytest.raises(ValueError, match="View 'rna' must have its rows in `X`"):
        Views({"rna": without_x()})
    with pytest.raises(ValueError, match=r"must share samples \(axis 0\)"):
        Views(multimodal(axis=1)[0])
    data.mod["rna"].obs_names = [f"other {name}" for name in NAMES]
    with pytest.raises(ValueError, match=r"got 'other cell 0'; call its `update\(\)` first"):
        Views(data)


def without_x():
    return pytest.importorskip("anndata").AnnData(obs=pd.DataFrame(index=NAMES))


def test_a_kernel_that_refuses_new_rows_names_their_view():
    views = Views({"rna": PROTEIN, "protein": PROTEIN})
    broken = Views({"rna": PROTEIN[:3], "protein": np.full((3, 3), np.nan)})
    for model in (MKLClassifier(OMICS_KERNELS), MKLClassifier(OMICS_KERNELS, n_components=9, random_state=0)):
        with pytest.raises(ValueError, match="In view 'protein': Input X contains NaN in row 0, column 0"):
            model.fit(views, TYPES).predict(broken)
