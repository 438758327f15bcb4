import hashlib
import json
import os
import pickle
import pkgutil
import stat
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler
from typer.testing import CliRunner

import localmkl
from localmkl import CLMKLClassifier, GramStack, HLMKLRegressor, LMKLClassifier, MKLClassifier
from localmkl import estimators as estimators_module
from localmkl._archive import write_archive
from localmkl._parts import Writer, public_class
from localmkl.cli import app
from localmkl.datasets import make_localized
from localmkl.kernels import RBF, Kernel, Linear
from localmkl.model_selection import MKLSearchCV

ESTIMATORS = [getattr(estimators_module, name) for name in estimators_module.__all__]
X, Y, GROUPS, VIEWS = make_localized(40, random_state=0)
NEW = make_localized(15, random_state=1).X
STACK = GramStack([X @ X.T, np.exp(-0.02 * ((X[:, None] - X) ** 2).sum(axis=2))])
CROSS = GramStack([NEW @ X.T, np.exp(-0.02 * ((NEW[:, None] - X) ** 2).sum(axis=2))])


def make(cls, kernels=None, **options):
    """An estimator with a seed where it takes one, fast to fit on little data."""
    model = cls(kernels, tol=1e-2, **options)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def targets(model):
    return Y if is_classifier(model) else X[:, VIEWS[1]].sum(axis=1)


def through_file(model, folder):
    localmkl.save(model, folder / "model.localmkl")
    return localmkl.load(folder / "model.localmkl")


def decide(model, rows):
    return model.decision_function(rows) if is_classifier(model) else model.predict(rows)


def assert_same_answers(model, other, rows):
    assert type(other) is type(model)
    np.testing.assert_allclose(decide(other, rows), decide(model, rows), rtol=1e-9)
    np.testing.assert_array_equal(other.predict(rows), model.predict(rows))


# Round trips


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_estimator_comes_back_as_it_was(cls, tmp_path):
    model = make(cls, [Linear(columns=VIEWS[0]), RBF(columns=[4, 5, 6]), RBF("median", columns=7)])
    model.fit(X, targets(model))
    again = through_file(model, tmp_path)
    assert_same_answers(model, again, NEW)
    assert repr(again) == repr(model)
    assert again.duality_gap_ == model.duality_gap_
    np.testing.assert_allclose(again.contributions(NEW), model.contributions(NEW), rtol=1e-9)
    np.testing.assert_array_equal(again.kernel_weights_, model.kernel_weights_)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_precomputed_estimator_comes_back_without_the_stack(cls, tmp_path):
    model = make(cls, "precomputed").fit(STACK, targets(make(cls)))
    assert_same_answers(model, through_file(model, tmp_path), CROSS)


def test_a_model_of_many_rows_does_not_carry_its_stack(tmp_path):
    rows = np.random.default_rng(0).normal(size=(300, 3))
    stack = GramStack(np.repeat((rows @ rows.T)[None], 5, axis=0))
    localmkl.save(make(MKLClassifier, "precomputed").fit(stack, rows[:, 0] > 0), tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 0.05 * stack.grams.nbytes


@pytest.mark.parametrize("cls", [CLMKLClassifier, LMKLClassifier])
def test_several_classes_come_back(cls, tmp_path):
    model = make(cls).fit(X, np.array(["a", "b", "c"])[GROUPS])
    again = through_file(model, tmp_path)
    assert_same_answers(model, again, NEW)
    assert again.predict(NEW).dtype == model.predict(NEW).dtype


@pytest.mark.parametrize("cls", [CLMKLClassifier, HLMKLRegressor, LMKLClassifier])
@pytest.mark.parametrize("gate_kernel", [1, RBF(columns=VIEWS[0])], ids=["index", "own"])
def test_gate_kernels_come_back(cls, gate_kernel, tmp_path):
    model = make(cls, gate_kernel=gate_kernel)
    model.fit(X, targets(model))
    again = through_file(model, tmp_path)
    assert_same_answers(model, again, NEW)
    np.testing.assert_allclose(again.memberships(NEW), model.memberships(NEW))


@pytest.mark.parametrize(
    "options",
    [
        {"gate": GaussianMixture(3, random_state=0)},
        {"normalize": "cosine"},
        {"random_state": np.random.RandomState(0)},
        {"class_weight": "balanced"},
        {"class_weight": {-1: 1.0, 1: 2.0}},
    ],
    ids=["mixture", "cosine", "random state", "balanced", "class weights"],
)
def test_other_options_come_back(options, tmp_path):
    model = CLMKLClassifier(tol=1e-2).set_params(**{"random_state": 0, **options}).fit(X, Y)
    assert_same_answers(model, through_file(model, tmp_path), NEW)


def test_a_fixed_gate_still_knows_its_stack(tmp_path):
    memberships = np.eye(2)[np.arange(40) % 2]
    model = make(CLMKLClassifier, "precomputed", gate=memberships, n_clusters=2).fit(STACK, Y)
    assert_same_answers(model, through_file(model, tmp_path), STACK[3:9])


def test_unlabelled_rows_come_back(tmp_path):
    model = make(CLMKLClassifier).fit(X, Y, unlabeled=NEW)
    assert_same_answers(model, through_file(model, tmp_path), NEW)


def test_pipelines_and_searches_come_back(tmp_path):
    pipeline = make_pipeline(StandardScaler(), make(CLMKLClassifier)).fit(X, Y)
    assert_same_answers(pipeline, through_file(pipeline, tmp_path), NEW)
    for scoring in (None, "accuracy"):
        search = GridSearchCV(make(MKLClassifier), {"C": [0.1, 1.0]}, cv=2, scoring=scoring).fit(X, Y)
        again = through_file(search, tmp_path)
        assert_same_answers(search, again, NEW)
        assert again.best_params_ == search.best_params_


FRAME = pd.DataFrame(X).add_prefix("x").assign(text=np.array(list("abc"))[GROUPS])


@pytest.mark.parametrize(
    "model, rows",
    [
        (make_pipeline(SimpleImputer(add_indicator=True), make(CLMKLClassifier)), np.where(X > 2, np.nan, X)),
        (make_pipeline(FunctionTransformer(np.tanh), make(MKLClassifier)), X),
        (
            make_pipeline(
                make_column_transformer((OneHotEncoder(), ["text"]), (StandardScaler(), ["x1", "x2"])),
                make(MKLClassifier),
            ),
            FRAME,
        ),
        (CalibratedClassifierCV(make(MKLClassifier), cv=2), X),
        (CalibratedClassifierCV(make(MKLClassifier), method="isotonic", cv=2), X),
        (MKLSearchCV(make(MKLClassifier), {"C": [0.1, 1.0]}, cv=2, scoring="roc_auc"), X),
    ],
    ids=["imputer", "function", "columns", "sigmoid", "isotonic", "search"],
)
def test_common_parts_of_scikit_learn_come_back(model, rows, tmp_path):
    model.fit(rows, Y)
    answer = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    again = through_file(model, tmp_path)
    np.testing.assert_array_equal(getattr(again, answer)(rows), getattr(model, answer)(rows))


def test_a_model_that_is_not_fitted_comes_back(tmp_path):
    model = CLMKLClassifier([RBF(0.5)], C=7.0, p=np.inf)
    assert repr(through_file(model, tmp_path)) == repr(model)


def test_a_model_of_a_data_frame_comes_back(tmp_path):
    frame, new = (pd.DataFrame(rows).add_prefix("column") for rows in (X, NEW))
    model = make(MKLClassifier, [Linear(columns="column2"), RBF(columns=["column4", "column5"])])
    model.fit(frame.assign(remark="text"), Y)
    assert_same_answers(model, through_file(model, tmp_path), new.assign(remark="text"))


def test_another_process_predicts_the_same(tmp_path):
    script = (
        "import sys, numpy as np, localmkl\n"
        "rows = np.load('rows.npy')\n"
        "for name in sys.argv[1:]:\n"
        "    model = localmkl.load(name)\n"
        "    np.save(name + '.npy', getattr(model, 'decision_function', model.predict)(rows))\n"
    )
    np.save(tmp_path / "rows.npy", NEW)
    models = {cls.__name__: make(cls) for cls in ESTIMATORS}
    for name, model in models.items():
        localmkl.save(model.fit(X, targets(model)), tmp_path / name)
    subprocess.run([sys.executable, "-c", script, *models], cwd=tmp_path, check=True, timeout=120)
    for name, model in models.items():
        answers = np.load(tmp_path / f"{name}.npy")
        np.testing.assert_allclose(answers, decide(model, NEW), rtol=1e-9)


# Files that are no model

DAMAGED = "is not a localmkl model, or is damaged .*; models are written by `localmkl.save`"


def written(tree, arrays, folder):
    """The bytes of a file as `save` writes it, of whatever tree."""
    write_archive(folder / "written", {"model": tree}, arrays)
    content = (folder / "written").read_bytes()
    (folder / "written").unlink()
    return content


def crafted(thing, folder):
    """The bytes of a file of a thing that `save` would refuse."""
    writer = Writer({})
    return written(writer.tree(thing), writer.arrays, folder)


def lines(content):
    """The first line of a file, its second, its tree and its arrays."""
    first, second, rest = content.split(b"\n", 2)
    length = int(second.split()[1])
    return first, second, rest[:length], rest[length:]


def sealed(text, arrays=b"", first=None):
    """A file with this text as its tree, and a checksum that is right."""
    first = (
        f"localmkl model, format 1, written by localmkl {localmkl.__version__}".encode()
        if first is None
        else first
    )
    checksum = hashlib.sha256(text + arrays).hexdigest().encode()
    return first + b"\n" + checksum + b" %d\n" % len(text) + text + arrays


def edited(content, change):
    """The file with its tree changed, and a checksum that is right: it tells nothing."""
    *_, text, arrays = lines(content)
    tree = json.loads(text)
    change(tree["model"])
    return sealed(json.dumps(tree).encode(), arrays)


def attribute(model, name):
    """The pair of name and value of an attribute in a tree."""
    return next(pair for pair in model["state"]["pairs"] if pair[0] == name)


def refused(content, folder, match):
    (folder / "crafted").write_bytes(content)
    with pytest.raises(ValueError, match=match) as caught:
        localmkl.load(folder / "crafted")
    assert "\n" not in str(caught.value)
    assert os.listdir(folder) == ["crafted"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"some text",
        pickle.dumps({"C": 1.0}),
        sealed(b"{"),
        sealed(b"{}"),
        sealed(b"[]"),
        sealed(b'{"model": {}}'),
    ],
    ids=["empty", "text", "pickle", "broken tree", "empty tree", "wrong tree", "empty model"],
)
def test_a_file_that_is_no_model_is_refused_by_name(content, tmp_path):
    (tmp_path / "other.bin").write_bytes(content)
    with pytest.raises(ValueError, match=rf"other\.bin' {DAMAGED}"):
        localmkl.load(tmp_path / "other.bin")


def test_a_file_of_before_the_first_release_is_refused_by_its_age(tmp_path):
    refused(
        b"PK\x03\x04 of skops", tmp_path, r"as models were before localmkl 0\.1\.0; fit the model again\.$"
    )


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not there; check the path of the model"):
        localmkl.load(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    localmkl.save(make(MKLClassifier).fit(X, Y), path)
    return path.read_bytes()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.999])
def test_a_truncated_file_is_refused(content, share, tmp_path):
    refused(content[: int(share * len(content))], tmp_path, DAMAGED)


@pytest.mark.parametrize("seed", range(10))
def test_a_changed_byte_is_refused(content, seed, tmp_path):
    damaged, start = bytearray(content), len(lines(content)[0])
    damaged[np.random.default_rng(seed).integers(start, len(content))] ^= 0xFF
    refused(bytes(damaged), tmp_path, DAMAGED)


def test_bytes_before_or_behind_a_model_are_refused(content, tmp_path):
    refused(content + b"more", tmp_path, "its checksum is another than it says: the file was cut or changed")
    refused(b"#!" + content, tmp_path, "it does not begin as models do")


@pytest.mark.parametrize(
    "thing", [{"C": 1.0}, [1, 2], np.ones(3), "text"], ids=lambda thing: type(thing).__name__
)
def test_a_file_of_something_else_is_refused(thing, tmp_path):
    match = f"is not a localmkl model, it holds {type(thing).__name__}; models are"
    refused(crafted(thing, tmp_path), tmp_path, match)


# Foreign types


class Custom(BaseEstimator):
    """An estimator that localmkl knows nothing of."""


@pytest.mark.parametrize(
    "model, foreign",
    [
        (FunctionTransformer(os.getcwd), "getcwd"),
        (Custom(), "Custom"),
        (make_pipeline(Custom(), MKLClassifier()), "Custom"),
        (MKLClassifier([os.path.join]), "join"),
        (make_pipeline(PolynomialFeatures(), MKLClassifier()), "PolynomialFeatures"),
        (MKLClassifier(C=(i for i in range(3))), "generator"),
        (MKLClassifier(C=pd.DataFrame(X)), "DataFrame"),
    ],
    ids=["function", "class", "pipeline", "kernel", "unlisted", "generator", "frame"],
)
def test_a_model_with_foreign_types_is_not_saved(model, foreign, tmp_path):
    with pytest.raises(TypeError, match=rf"cannot be saved: it holds \S*{foreign}; use kernels"):
        localmkl.save(model, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def classes_of_the_package():
    for module in pkgutil.walk_packages(localmkl.__path__, "localmkl."):
        found = {}
        with suppress(ModuleNotFoundError):  # of an extra that is not there
            found = vars(import_module(module.name))
        for name, one in found.items():
            if isinstance(one, type) and one.__module__ == module.name:
                yield module.name, name


def test_every_kernel_and_estimator_is_part_of_models_and_no_class_that_does_work_is():
    names = [getattr(localmkl.kernels, name) for name in localmkl.kernels.__all__]
    parts = {one for one in names if isinstance(one, type) and issubclass(one, Kernel)} | set(ESTIMATORS)
    assert all(public_class(f"{one.__module__}.{one.__name__}") is one for one in parts)
    known = {name for module, name in classes_of_the_package() if public_class(f"{module}.{name}")}
    assert not known & {"Checkpoint", "Run", "Views", "GroupedRows", "Parallel"}


@pytest.mark.parametrize(
    "name",
    [
        *("os.system", "builtins.eval", "localmkl.import_module", "localmkl.persistence.import_module"),
        *(
            "localmkl.persistence.save",
            "localmkl.persistence.Path",
            "localmkl.nowhere.Thing",
            "localmklish.Thing",
        ),
        *("localmkl.kernels.import_module", "localmkl.gates.nowhere.os", "planted_module.Thing"),
        *("sklearn.datasets.fetch_openml", "sklearn.svm.SVC", "sklearn.tree.DecisionTreeClassifier"),
        *(
            "sklearn.preprocessing.PolynomialFeatures",
            "numpy.load",
            "localmkl.model_selection.checkpoint.Checkpoint",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["object", "function"])
def test_a_file_cannot_name_what_is_not_listed(kind, name, content, tmp_path, monkeypatch):
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / "planted_module.py").write_text("raise SystemExit('code ran')")
    monkeypatch.syspath_prepend(tmp_path / "planted")

    def change(model):
        attribute(model, "C")[1] = {
            "kind": kind,
            "class": name,
            "name": name,
            "state": {"kind": "dict", "pairs": []},
        }

    (tmp_path / "crafted").write_bytes(edited(content, change))
    with pytest.raises(ValueError, match=rf"names types that are not localmkl's: {name};"):
        localmkl.load(tmp_path / "crafted")


@pytest.mark.parametrize("kind", ["reduce", "method", "partial", "", None, 5, ["object"]])
def test_parts_of_another_kind_are_refused(kind, content, tmp_path):
    def change(model):
        attribute(model, "C")[1] = {"kind": kind, "class": "os.getcwd", "name": "os.getcwd", "items": []}

    refused(edited(content, change), tmp_path, DAMAGED)


def test_a_class_in_place_of_a_function_is_refused(content, tmp_path):
    def change(model):
        attribute(model, "C")[1] = {
            "kind": "object",
            "class": "numpy.log",
            "state": {"kind": "dict", "pairs": []},
        }

    refused(edited(content, change), tmp_path, DAMAGED)


@pytest.mark.parametrize("name", ["predict", "_check_rows", "_doc_link_template", "_decide", "__class__"])
def test_no_attribute_of_a_file_hides_one_of_the_class(name, content, tmp_path):
    def change(model):
        model["state"]["pairs"].append([name, 1.0])

    refused(edited(content, change), tmp_path, f"MKLClassifier has no attribute '{name}' of its own")


def test_a_random_state_beyond_its_words_is_refused(tmp_path):
    state = np.random.RandomState(0).get_state(legacy=False)
    state["state"]["pos"] = 10**6
    thing = crafted(MKLClassifier(C=state), tmp_path)

    def change(model):
        pair = attribute(model, "C")
        pair[1] = {"kind": "random_state", "state": pair[1]}

    refused(edited(thing, change), tmp_path, "a random state is not one")


# Plain values

PLAIN = {
    "nested": {"cells": [{"low": 0.1, "high": float("inf")}, {}], "none": None, "flags": [True, False]},
    "arrays": [
        np.arange(6.0).reshape(2, 3).T,
        np.zeros((0, 3)),
        np.array(["a", "bc"]),
        np.array([None, "x", 2.5], dtype=object),
        np.array(["2026-01-01", "NaT"], dtype="datetime64[D]"),
    ],
    "keys": {1: "one", 2.5: "two", None: "three", np.int64(7): "seven", ("a", 1): "pair"},
    "few": (np.float64(0.5), np.bool_(True), np.array(3.0), {"a", "b"}, slice(1, None), b"bytes"),
    "masked": np.ma.MaskedArray([1.0, 2.0], [False, True]),
    "text": "é \x1b \ud800 \U0001f600",
}


def test_nested_plain_values_and_arrays_come_back_with_their_types(tmp_path):
    again = through_file(MKLClassifier(C=PLAIN), tmp_path).C
    for name in ("nested", "text", "keys", "few"):
        assert again[name] == PLAIN[name]
    for found, expected in zip(again["arrays"], PLAIN["arrays"], strict=True):
        assert found.dtype == expected.dtype
        assert found.flags.f_contiguous == expected.flags.f_contiguous
        np.testing.assert_array_equal(found, expected)
    assert [type(one) for one in again["few"]] == [type(one) for one in PLAIN["few"]]
    np.testing.assert_array_equal(again["masked"].mask, [False, True])


def test_one_object_in_two_places_is_one_object_again(tmp_path):
    kernel, numbers = RBF(0.5), np.arange(3.0)
    again = through_file(MKLClassifier([kernel, kernel], C=[numbers, numbers]), tmp_path)
    assert again.kernels[0] is again.kernels[1]
    assert again.C[0] is again.C[1]


def test_a_part_that_holds_itself_cannot_be_saved(tmp_path):
    model = MKLClassifier()
    model.C = [model]
    with pytest.raises(TypeError, match="cannot be saved: a part of it holds itself"):
        localmkl.save(model, tmp_path / "model")


# Sizes


def claiming(dtype, shape):
    def change(model):
        attribute(model, "dual_coef_")[1] |= {"dtype": dtype, "shape": shape}

    return lambda content: edited(content, change)


@pytest.mark.parametrize(
    "spoil, match",
    [
        (claiming("<f8", [10**12]), "an array claims 8,000,000,000,000 bytes"),
        (claiming("<f8", [0, 2**63]), DAMAGED),
        (claiming("<f8", [-1]), "an array has no plain type or shape"),
        (claiming("<U99999999", [0]), "an array claims 0 bytes"),
        (claiming("<U0", [10**12]), "an array has no plain type or shape"),
        (claiming("|O", [40]), "an array has no plain type or shape"),
        (lambda content: sealed(b"[" * 10**5 + b"]" * 10**5), DAMAGED),
        (lambda content: sealed(b"[" + b"[]," * 10**7 + b"1]"), "its tree has more parts than a model has"),
        (lambda content: sealed("[ä]".encode()), "its tree has more parts than a model has"),
        (
            lambda content: content.replace(b" %d\n" % len(lines(content)[2]), b" 99999999999999999\n"),
            DAMAGED,
        ),
    ],
    ids=[
        "shape",
        "overflow",
        "negative",
        "item",
        "empty item",
        "objects",
        "deep",
        "wide",
        "letters",
        "length",
    ],
)
def test_a_file_cannot_make_itself_larger_than_it_is(spoil, match, content, tmp_path):
    spoiled = spoil(content)
    tracemalloc.start()
    try:
        refused(spoiled, tmp_path, match)
        assert tracemalloc.get_traced_memory()[1] < 2**21 + 4 * len(spoiled)
    finally:
        tracemalloc.stop()


def test_arrays_share_no_bytes_of_a_file(tmp_path):
    thing = crafted(MKLClassifier(C=[np.ones(10**5), 1]), tmp_path)

    def change(model):
        items = attribute(model, "C")[1]
        items[:] = [items[0]] * 1000

    refused(edited(thing, change), tmp_path, "an array claims 800,000 bytes, 0 are left")


@pytest.mark.skipif(os.name != "posix", reason="pipes with a name are a matter of POSIX")
def test_a_pipe_in_place_of_a_model_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe' must be a regular file"):
        localmkl.load(tmp_path / "pipe")


def test_a_newer_format_is_refused_by_its_version(content, tmp_path):
    newer = content.replace(
        b"format 1, written by localmkl " + localmkl.__version__.encode(),
        b"format 2, written by localmkl 3.1.4",
    )
    refused(newer, tmp_path, r"was written by localmkl 3\.1\.4 in format 2, localmkl .* update localmkl\.$")


# Parts that do not fit together


SPOILED = [
    ("dual_coef_", lambda old: old * np.nan),
    ("dual_coef_", lambda old: old[:-1]),
    ("dual_coef_", lambda old: old.astype(str)),
    ("intercept_", lambda old: "0"),
    ("intercept_", lambda old: float("inf")),
    ("support_", lambda old: old + 10**9),
    ("classes_", lambda old: old[:1]),
    ("classes_", lambda old: np.array([1, 1])),
    ("classes_", lambda old: np.arange(3)),
    ("kernel_weights_", lambda old: -old),
    ("kernel_weights_", lambda old: old[:, :-1]),
    ("memberships_", lambda old: 2.0 * old),
    ("memberships_", lambda old: old[:, :1]),
    ("factors_", lambda old: old[:-1]),
    ("factors_", lambda old: None),
    ("kernels_", lambda old: old[:-1]),
    ("kernels_", lambda old: [*old[:-1], 5]),
    ("rows_", lambda old: old[:-1]),
    ("cosine_scales_", lambda old: np.ones(3)),
    ("gate_", lambda old: None),
    ("gate_", lambda old: Linear()),
    ("history_", lambda old: {}),
    ("n_iter_", lambda old: -1),
    ("duality_gap_", lambda old: None),
    ("kernels", lambda old: "precomputed"),
    ("p", lambda old: "text"),
    ("normalize", lambda old: "cosine"),
]


@pytest.mark.parametrize("name, change", SPOILED, ids=[f"{name}{n}" for n, (name, _) in enumerate(SPOILED)])
def test_a_model_whose_parts_do_not_fit_is_neither_loaded_nor_saved(name, change, fitted, tmp_path):
    model = pickle.loads(fitted)
    setattr(model, name, change(getattr(model, name)))
    refused(crafted(model, tmp_path), tmp_path, DAMAGED)
    with pytest.raises(ValueError, match=r"^The model cannot be saved: .*; fit it again\.$"):
        localmkl.save(model, tmp_path / "saved")
    assert os.listdir(tmp_path) == ["crafted"]


@pytest.fixture(scope="module")
def fitted():
    return pickle.dumps(make(CLMKLClassifier, n_clusters=2).fit(X, Y))


def test_every_missing_attribute_of_a_fitted_model_is_noticed_or_not_needed(fitted, tmp_path):
    for name in vars(pickle.loads(fitted)):
        model = pickle.loads(fitted)
        delattr(model, name)
        (tmp_path / "model").write_bytes(crafted(model, tmp_path))
        try:
            again = localmkl.load(tmp_path / "model")
        except ValueError:
            continue
        assert_same_answers(pickle.loads(fitted), again, NEW)


MADE = {
    "date": "2026-01-01",
    "file": "t.csv",
    "version": "0.1.0",
    "cpu": "some",
    "seconds": 1.0,
    "kernel_names": list("abcd"),
    "y": Y,
}


@pytest.mark.parametrize(
    "entries",
    [
        {},
        {"seconds": None},
        {"kernel_names": list("abc")},
        {"kernel_names": ["\x1b[2J", *"bcd"]},
        {"y": Y[:-1]},
        {"rows": {"start": 0, "stop": 90, "of": 40}},
        {"cpu": None},
    ],
    ids=lambda entries: next(iter(entries), "whole"),
)
def test_a_record_that_is_not_whole_is_shown_or_refused_in_a_sentence(entries, fitted, tmp_path):
    model = pickle.loads(fitted)
    model.made_ = MADE | entries
    localmkl.save(model, tmp_path / "model.localmkl")
    result = CliRunner().invoke(app, ["info", str(tmp_path / "model.localmkl")])
    assert result.exit_code in ((0, 1) if entries else (0,))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "\x1b" not in result.output
    assert len(result.stderr.splitlines()) <= 1


@pytest.mark.parametrize("command", ["info", "predict", "report"])
def test_the_command_line_refuses_a_crafted_file_in_one_sentence(command, content, tmp_path, monkeypatch):
    def change(model):
        attribute(model, "C")[1] = {"kind": "object", "class": "os.system", "state": None}

    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.localmkl").write_bytes(edited(content, change))
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    result = CliRunner().invoke(
        app, [command, "model.localmkl", *(["rows.csv"] if command == "predict" else [])]
    )
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: 'model.localmkl' names types that are not localmkl's: ")
    assert len(result.stderr.splitlines()) == 1
    assert sorted(os.listdir(tmp_path)) == ["model.localmkl", "rows.csv"]


@pytest.mark.parametrize("options", [{"refit": False}, {"scoring": ["accuracy", "roc_auc"], "refit": False}])
def test_a_search_without_a_last_fit_comes_back(options, tmp_path):
    search = GridSearchCV(make(MKLClassifier), {"C": [0.1, 1.0]}, cv=2, **options).fit(X, Y)
    assert through_file(search, tmp_path).cv_results_["params"] == search.cv_results_["params"]


@pytest.mark.parametrize(
    "options", [{"kernels": [lambda A, B: A @ B.T]}, {"gate": lambda A: np.ones((len(A), 1))}], ids=list
)
def test_a_model_with_a_lambda_cannot_be_saved(options, tmp_path):
    model = make(CLMKLClassifier, n_clusters=1).set_params(**options).fit(X, Y)
    with pytest.raises(
        TypeError, match=r"cannot be saved: it holds .*<lambda>; use kernels and gates of localmkl"
    ):
        localmkl.save(model, tmp_path / "model")


@pytest.mark.parametrize("thing", [None, 3, {"C": 1.0}, MKLClassifier], ids=str)
def test_only_models_are_saved(thing, tmp_path):
    with pytest.raises(TypeError, match="`model` must be an estimator, got"):
        localmkl.save(thing, tmp_path / "model")


# Writing


@pytest.mark.parametrize("failing", ["replace", "fsync"])
def test_a_failing_write_leaves_the_old_file_and_nothing_else(failing, tmp_path, monkeypatch):
    path = tmp_path / "model"
    localmkl.save(MKLClassifier(C=1.0), path)
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="disk full"):
        localmkl.save(MKLClassifier(C=2.0), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_a_model_that_cannot_be_saved_leaves_the_old_file(tmp_path):
    path = tmp_path / "model"
    localmkl.save(MKLClassifier(C=1.0), path)
    with pytest.raises(TypeError):
        localmkl.save(Custom(), path)
    assert localmkl.load(path).C == 1.0
    assert os.listdir(tmp_path) == ["model"]


def test_saving_again_replaces_the_file_and_leaves_nothing_else(tmp_path):
    for C in (1.0, 2.0):
        localmkl.save(MKLClassifier(C=C), str(tmp_path / "model"))
    assert localmkl.load(str(tmp_path / "model")).C == 2.0
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("content", [b"age,dose\n1,2\n", b"PK\x03\x04 of another kind", b"x"])
def test_a_file_that_is_no_model_is_not_replaced(content, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    for place in (path, str(path)):
        with pytest.raises(
            FileExistsError, match=r"data\.csv' is there already and is not a model of localmkl"
        ):
            localmkl.save(MKLClassifier(), place)
    assert path.read_bytes() == content
    path.write_bytes(b"")
    localmkl.save(MKLClassifier(C=2.0), path)
    assert localmkl.load(path).C == 2.0


def test_a_file_name_alone_means_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    localmkl.save(MKLClassifier(), "model")
    assert repr(localmkl.load("model")) == repr(MKLClassifier())


@pytest.mark.skipif(os.name != "posix", reason="permissions are a matter of POSIX")
def test_a_model_file_can_be_read_by_whom_the_user_lets(tmp_path):
    (tmp_path / "other").touch()
    localmkl.save(MKLClassifier(), tmp_path / "model")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("other", "model")]
    assert modes[0] == modes[1]


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        localmkl.save(MKLClassifier(), tmp_path / "nowhere" / "model")
