import io
import json
import os
import pickle
import pkgutil
import stat
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from contextlib import suppress
from importlib import import_module
from inspect import isabstract

import numpy as np
import pandas as pd
import pytest
import skops.io
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
from localmkl._archive import MANIFEST, seal
from localmkl._parts import BUILDERS, CLASSES
from localmkl.cli import app
from localmkl.datasets import make_localized
from localmkl.kernels import RBF, Kernel, Linear, WeightedDegree
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
    with pytest.raises(FileNotFoundError, match="is not there; check the path of the model"):
        localmkl.load(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    localmkl.save(make(MKLClassifier).fit(X, Y), path)
    return path.read_bytes()


def test_a_gate_by_its_names_of_older_versions_comes_back(tmp_path):
    model = make(CLMKLClassifier).fit(X, Y)
    localmkl.save(model, tmp_path / "model")

    def change(schema, members):
        gate = schema["content"]["content"]["gate_"]
        assert (gate["__module__"], gate["__class__"]) == ("localmkl.estimators.gating", "ClusteringGate")
        clustering = gate["content"]["content"]["clustering"]
        assert (clustering["__module__"], clustering["__class__"]) == (
            "localmkl.gates.kmeans",
            "KernelKMeansGate",
        )
        gate["__class__"], clustering["__module__"] = "KMeansGate", "localmkl.gates"

    (tmp_path / "older").write_bytes(edited((tmp_path / "model").read_bytes(), change))
    assert_same_answers(model, localmkl.load(tmp_path / "older"), NEW)


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
        (make_pipeline(PolynomialFeatures(), MKLClassifier()), "PolynomialFeatures"),
    ],
    ids=["function", "class", "pipeline", "kernel", "unlisted"],
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


def edited(content, change):
    """The file with its parts changed, sealed again as `save` does it: checksums tell nothing."""
    source, buffer = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    members = {name: source.read(name) for name in source.namelist() if name != MANIFEST}
    schema = json.loads(members["schema.json"])
    change(schema, members)
    members["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return seal(buffer.getvalue())


def node(kind, module, name, **parts):
    return {"__loader__": kind, "__module__": module, "__class__": name, **parts}


def refused(content, folder, match):
    (folder / "crafted").write_bytes(content)
    with pytest.raises(ValueError, match=match) as caught:
        localmkl.load(folder / "crafted")
    assert "\n" not in str(caught.value)
    assert os.listdir(folder) == ["crafted"]


def classes_of_the_package():
    for module in pkgutil.walk_packages(localmkl.__path__, "localmkl."):
        found = {}
        with suppress(ModuleNotFoundError):  # of an extra that is not there
            found = vars(import_module(module.name))
        for name, one in found.items():
            if isinstance(one, type) and one.__module__ == module.name:
                yield module.name, name


def test_every_kernel_and_estimator_is_listed_as_part_of_models():
    names = [getattr(localmkl.kernels, name) for name in localmkl.kernels.__all__]
    kernels = {one for one in names if isinstance(one, type)}
    kernels = {one.__name__ for one in kernels if issubclass(one, Kernel) and not isabstract(one)}
    assert kernels - {"CallableKernel", "SequenceKernel"} == set(CLASSES["localmkl.kernels"])
    assert {cls.__name__ for cls in ESTIMATORS} == set(CLASSES["localmkl.estimators"])


def test_no_class_of_the_package_is_constructed_by_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crafted = calling("some.where", "Thing", str(tmp_path / "written"), {}, {})
    for module, name in classes_of_the_package():

        def change(schema, members, own=(module, name)):
            made = schema["content"]["content"]["C"]
            made["__module__"], made["__class__"] = own

        refused(edited(crafted, change), tmp_path, rf"names types that are not localmkl's: {module}\.{name};")


@pytest.mark.parametrize(
    "kind", sorted({kind for kind, _ in skops.io._audit.NODE_TYPE_MAPPING}.difference(BUILDERS))
)
def test_kinds_of_parts_that_call_something_are_refused(kind, content, tmp_path):
    def change(schema, members):
        schema["content"]["content"]["C"] = node(kind, "os", "getcwd", content={}, attrs={})

    refused(edited(content, change), tmp_path, r"names types that are not localmkl's: os\.getcwd;")


@pytest.mark.parametrize("name", ["predict", "_check_rows", "_doc_link_template", "_decide", "__class__"])
def test_no_attribute_of_a_file_hides_one_of_the_class(name, content, tmp_path):
    def change(schema, members):
        attributes = schema["content"]
        attributes["content"][name] = attributes["content"]["C"]
        attributes["key_types"]["content"].append(node("TypeNode", "builtins", "str"))

    refused(edited(content, change), tmp_path, f"MKLClassifier has no attribute '{name}' of its own")


def test_a_random_state_beyond_its_words_is_refused(tmp_path):
    localmkl.save(MKLClassifier(C=np.random.RandomState(0)), tmp_path / "crafted")

    def change(schema, members):
        state = schema["content"]["content"]["C"]["content"]["content"]["state"]["content"]
        state["pos"]["content"] = "1000000"

    refused(edited((tmp_path / "crafted").read_bytes(), change), tmp_path, "a random state is not one")


# Sizes


def claim_many(schema, members):
    name = schema["content"]["content"]["dual_coef_"]["file"]
    members[name] = members[name].replace(b"'shape': (40,), }            ", b"'shape': (1000000000000,), } ")
    assert b"1000000000000" in members[name]


def compressed(content):
    source, buffer = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
        archive.writestr("0.npy", bytes(10**7))
    return buffer.getvalue()


def with_schema(text):
    return lambda content: seal(zip_of("schema.json", text))


def larger(content):
    """The first member of the list claims all bytes of the file."""
    start = content.index(b"PK\x01\x02")
    sizes = struct.pack("<LL", len(content), len(content))
    return content[: start + 20] + sizes + content[start + 28 :]


@pytest.mark.parametrize(
    "spoil, match",
    [
        (lambda content: edited(content, claim_many), "an array claims 8,000,000,000,000 bytes"),
        (compressed, "its members are compressed or encrypted"),
        (larger, "its members"),
        (with_schema("[" * 10**5 + "]" * 10**5), "the schema is nested deeper than a model is"),
        (with_schema("[" + "[]," * 10**7 + "1]"), "the schema has more parts than a model has"),
        (lambda content: content + b"more", "it is no zip archive, or not a whole one"),
        (lambda content: b"#!" + content, "it is no zip archive, or not a whole one"),
    ],
    ids=["shape", "compressed", "larger", "deep", "wide", "longer", "before"],
)
def test_a_file_cannot_make_itself_larger_than_it_is(spoil, match, content, tmp_path):
    spoiled = spoil(content)
    tracemalloc.start()
    try:
        refused(spoiled, tmp_path, match)
        assert tracemalloc.get_traced_memory()[1] < 2**20 + 4 * len(spoiled)
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(os.name != "posix", reason="pipes with a name are a matter of POSIX")
def test_a_pipe_in_place_of_a_model_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe' must be a regular file"):
        localmkl.load(tmp_path / "pipe")


# Versions and checksums


def test_a_file_without_a_manifest_loads_as_before(tmp_path):
    model = make(CLMKLClassifier).fit(X, Y)
    skops.io.dump(model, tmp_path / "old")
    assert_same_answers(model, localmkl.load(tmp_path / "old"), NEW)


def with_manifest(content, **entries):
    source, buffer = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in source.namelist():
            member = source.read(name)
            archive.writestr(name, json.dumps(json.loads(member) | entries) if name == MANIFEST else member)
    return buffer.getvalue()


def test_a_newer_format_is_refused_by_its_version(content, tmp_path):
    newer = with_manifest(content, format=2, localmkl="3.1.4")
    refused(newer, tmp_path, r"was written by localmkl 3\.1\.4 in format 2, localmkl .* update localmkl\.$")


def test_a_newer_protocol_of_skops_is_refused(content, tmp_path):
    newer = edited(content, lambda schema, members: schema.update(protocol=99))
    refused(newer, tmp_path, "is written in protocol 99 of skops, .* update localmkl")


def test_members_that_changed_places_are_noticed(content, tmp_path):
    source, buffer = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    arrays = [name for name in source.namelist() if name.endswith(".npy")]
    places = dict(zip(arrays, reversed(arrays), strict=True))
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in source.namelist():
            archive.writestr(places.get(name, name), source.read(name))
    refused(buffer.getvalue(), tmp_path, "has another checksum than the manifest says")


# Parts that do not fit together


SPOILED = [
    ("dual_coef_", lambda old: old * np.nan),
    ("dual_coef_", lambda old: 1e200 * old),
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
    ("kernels_", lambda old: [RBF(0.5), *old[1:]]),
    ("rows_", lambda old: old[:-1]),
    ("rows_", lambda old: old[:, :-1]),
    ("rows_", lambda old: 1e140 * old),
    ("rows_", lambda old: np.where(old > 2, np.nan, old)),
    ("cosine_scales_", lambda old: np.ones(3)),
    ("gate_", lambda old: None),
    ("gate_", lambda old: Linear()),
    ("history_", lambda old: {}),
    ("n_iter_", lambda old: -1),
    ("duality_gap_", lambda old: None),
    ("n_features_in_", lambda old: 7),
    ("kernels", lambda old: "precomputed"),
    ("p", lambda old: "text"),
    ("normalize", lambda old: "cosine"),
]


@pytest.mark.parametrize("name, change", SPOILED, ids=[f"{name}{n}" for n, (name, _) in enumerate(SPOILED)])
def test_a_model_whose_parts_do_not_fit_is_neither_loaded_nor_saved(name, change, fitted, tmp_path):
    model = pickle.loads(fitted)
    setattr(model, name, change(getattr(model, name)))
    refused(seal(skops.io.dumps(model)), tmp_path, DAMAGED)
    with pytest.raises(ValueError, match=r"^The model cannot be saved: .*; fit it again\.$"):
        localmkl.save(model, tmp_path / "saved")
    assert os.listdir(tmp_path) == ["crafted"]


@pytest.fixture(scope="module")
def fitted():
    return pickle.dumps(make(CLMKLClassifier, n_clusters=2).fit(X, Y))


@pytest.mark.parametrize("name", ["averages_", "offsets_", "tau_", "n_clusters"])
def test_a_gate_that_does_not_fit_is_refused(name, fitted, tmp_path):
    model = pickle.loads(fitted)
    setattr(model.gate_.clustering, name, np.ones(7))
    refused(seal(skops.io.dumps(model)), tmp_path, DAMAGED)


@pytest.mark.parametrize("index", ["1", 4, -5, 1.0, True])
def test_a_gate_whose_kernel_is_not_there_is_refused(index, fitted, tmp_path):
    model = pickle.loads(fitted)
    model.gate_.kernel.index = index
    refused(seal(skops.io.dumps(model)), tmp_path, DAMAGED)


@pytest.mark.parametrize("shared", [0.5, 1.0])
def test_groups_that_do_not_fit_are_refused(shared, tmp_path):
    groups = np.where(np.arange(len(Y)) % 3 > 0, "Ulm", "Bonn")
    model = make(CLMKLClassifier, gate="groups", shared=shared).fit(X, Y, groups=groups)
    model.groups_ = model.groups_[:-1]
    refused(seal(skops.io.dumps(model)), tmp_path, DAMAGED)
    model.groups_ = groups
    if shared < 1.0:
        model.gate_.table = 2.0 * model.gate_.table
    else:
        del model.groups_
    refused(seal(skops.io.dumps(model)), tmp_path, DAMAGED)


def test_every_missing_attribute_of_a_fitted_model_is_noticed_or_not_needed(fitted, tmp_path):
    for name in vars(pickle.loads(fitted)):
        model = pickle.loads(fitted)
        delattr(model, name)
        (tmp_path / "model").write_bytes(seal(skops.io.dumps(model)))
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
def test_what_a_model_says_of_how_it_was_made_is_whole_or_refused(entries, fitted, tmp_path):
    model = pickle.loads(fitted)
    model.made_ = MADE | entries
    localmkl.save(model, tmp_path / "model.localmkl")
    result = CliRunner().invoke(app, ["info", str(tmp_path / "model.localmkl")])
    assert result.exit_code == (1 if entries else 0)
    assert ("is damaged: what it says of how it was made is not whole" in result.stderr) == bool(entries)


@pytest.mark.parametrize("command", ["info", "predict", "report"])
def test_the_command_line_refuses_a_crafted_file_in_one_sentence(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crafted = calling("localmkl.model_selection.checkpoint", "Checkpoint", "written", {}, {})
    (tmp_path / "model.localmkl").write_bytes(seal(crafted))
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    result = CliRunner().invoke(
        app, [command, "model.localmkl", *(["rows.csv"] if command == "predict" else [])]
    )
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: 'model.localmkl' names types that are not localmkl's: ")
    assert len(result.stderr.splitlines()) == 1
    assert sorted(os.listdir(tmp_path)) == ["model.localmkl", "rows.csv"]


def test_a_kernel_that_counts_without_end_is_refused(tmp_path):
    model = make(MKLClassifier, [WeightedDegree(2)]).fit(["ACGT", "ACGA", "TTGA", "TTCA"], [0, 0, 1, 1])
    model.kernels_[0].degree = 10**12
    refused(seal(skops.io.dumps(model)), tmp_path, "of a kernel is beyond 1,000,000")


def test_a_pipeline_with_a_part_that_cannot_run_is_refused(tmp_path):
    pipeline = make_pipeline(StandardScaler(), make(MKLClassifier)).fit(X, Y)
    pipeline[0].mean_ = pipeline[0].mean_[:-1]
    refused(seal(skops.io.dumps(pipeline)), tmp_path, "Pipeline cannot predict: ")
    del pipeline[0].mean_
    refused(seal(skops.io.dumps(pipeline)), tmp_path, "Pipeline cannot predict: ")
    del pipeline[0].n_features_in_
    refused(seal(skops.io.dumps(pipeline)), tmp_path, "Pipeline does not know its columns")
    pipeline.steps[-1] = ("model", 5)
    refused(seal(skops.io.dumps(pipeline)), tmp_path, DAMAGED)


@pytest.mark.parametrize("options", [{"refit": False}, {"scoring": ["accuracy", "roc_auc"], "refit": False}])
def test_a_search_without_a_last_fit_comes_back(options, tmp_path):
    search = GridSearchCV(make(MKLClassifier), {"C": [0.1, 1.0]}, cv=2, **options).fit(X, Y)
    assert through_file(search, tmp_path).cv_results_["params"] == search.cv_results_["params"]


def test_a_search_whose_best_model_is_none_is_refused(tmp_path):
    search = GridSearchCV(make(MKLClassifier), {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    search.best_estimator_ = 5
    refused(seal(skops.io.dumps(search)), tmp_path, DAMAGED)


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
