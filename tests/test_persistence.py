import io
import json
import os
import pickle
import stat
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, is_classifier
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import localmkl
from localmkl import CLMKLClassifier, GramStack, HLMKLRegressor, LMKLClassifier, MKLClassifier
from localmkl import estimators as estimators_module
from localmkl.datasets import make_localized
from localmkl.kernels import RBF, Linear

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


def zip_of(name, text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, text)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"some text",
        pickle.dumps({"C": 1.0}),
        zip_of("notes.txt", "hello"),
        zip_of("schema.json", "{"),
        zip_of("schema.json", "{}"),
        zip_of("schema.json", "[]"),
    ],
    ids=["empty", "text", "pickle", "zip", "broken schema", "empty schema", "wrong schema"],
)
def test_a_file_that_is_no_model_is_refused_by_name(content, tmp_path):
    (tmp_path / "other.bin").write_bytes(content)
    with pytest.raises(ValueError, match=rf"other\.bin' {DAMAGED}"):
        localmkl.load(tmp_path / "other.bin")


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        localmkl.load(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    localmkl.save(make(MKLClassifier).fit(X, Y), path)
    return path.read_bytes()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.999])
def test_a_truncated_file_is_refused(content, share, tmp_path):
    (tmp_path / "half").write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=DAMAGED):
        localmkl.load(tmp_path / "half")


@pytest.mark.parametrize("seed", range(10))
def test_a_flipped_byte_is_refused_or_harmless(content, seed, tmp_path):
    damaged = bytearray(content)
    damaged[np.random.default_rng(seed).integers(len(content))] ^= 0xFF
    (tmp_path / "flipped").write_bytes(bytes(damaged))
    try:
        C = localmkl.load(tmp_path / "flipped").C
    except ValueError as error:
        if "is not a localmkl model, or is damaged" not in str(error):
            raise
    else:
        assert C == 1.0


@pytest.mark.parametrize(
    "thing", [{"C": 1.0}, [1, 2], np.ones(3), "text"], ids=lambda thing: type(thing).__name__
)
def test_a_skops_file_without_a_model_is_refused(thing, tmp_path):
    skops.io.dump(thing, tmp_path / "thing")
    with pytest.raises(
        ValueError, match=f"is not a localmkl model, it holds {type(thing).__name__}; models are"
    ):
        localmkl.load(tmp_path / "thing")


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
    ],
    ids=["function", "class", "pipeline", "kernel"],
)
def test_foreign_types_are_neither_loaded_nor_saved(model, foreign, tmp_path):
    skops.io.dump(model, tmp_path / "foreign")
    with pytest.raises(
        ValueError, match=rf"foreign' names types that are not localmkl's: \S*{foreign}; only"
    ):
        localmkl.load(tmp_path / "foreign")
    with pytest.raises(TypeError, match=rf"cannot be saved: it holds \S*{foreign}; use kernels"):
        localmkl.save(model, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def calling(module, function, *arguments):
    """A file of a model whose `C` is made, on loading, by a call of the function."""
    buffer = io.BytesIO()
    source = zipfile.ZipFile(io.BytesIO(skops.io.dumps(MKLClassifier(C=arguments))))
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in source.namelist():
            content = source.read(name)
            if name == "schema.json":
                schema = json.loads(content)
                attributes = schema["content"]["content"]
                attributes["C"] = {
                    "__class__": function,
                    "__module__": module,
                    "__loader__": "ConstructorFromReduceNode",
                    "__id__": 10**9,
                    "content": attributes["C"],
                }
                content = json.dumps(schema)
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "module, function",
    [
        ("localmkl", "import_module"),
        ("localmkl.persistence", "import_module"),
        ("localmkl.persistence", "save"),
        ("localmkl.persistence", "Path"),
        ("localmkl.nowhere", "Thing"),
        ("localmklish", "Thing"),
        ("os", "system"),
    ],
)
def test_no_file_can_call_what_our_modules_happen_to_hold(module, function, tmp_path, monkeypatch):
    (tmp_path / "planted_module.py").write_text("raise SystemExit('code ran')")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "crafted").write_bytes(calling(module, function, "planted_module"))
    with pytest.raises(ValueError, match=rf"names types that are not localmkl's: {module}\.{function};"):
        localmkl.load(tmp_path / "crafted")


def test_the_crafted_file_would_have_worked(tmp_path):
    content = calling("localmkl", "import_module", "colorsys")
    assert (
        skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content)).C.__name__ == "colorsys"
    )


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


def test_what_skops_cannot_write_is_a_clear_error(tmp_path):
    with pytest.raises(TypeError, match="cannot be saved: it holds something that skops cannot write"):
        localmkl.save(MKLClassifier(C=(i for i in range(3))), tmp_path / "model")


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
