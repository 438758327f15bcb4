"""Models with kernels, gates and losses of another package: loaded if the user names them, and not run."""

import sys
from textwrap import dedent

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import localmkl
from localmkl import CLMKLRegressor, MKLClassifier, MKLRegressor
from localmkl.bounds import bound_model
from localmkl.cli import app
from localmkl.datasets import make_localized
from localmkl.kernels import RBF
from localmkl.solvers.losses import CLASSIFICATION, REGRESSION

X, Y = make_localized(40, regression=True, random_state=0)[:2]
LABELS = make_localized(40, random_state=0)[1]
PACKAGE = """
import numpy as np
from dataclasses import dataclass
from sklearn.base import BaseEstimator
from localmkl.kernels import Kernel
from localmkl.solvers.losses import PiecewiseLinear

CALLS = []


class Laplacian(Kernel):
    scale_ = 1.0

    def __init__(self, power=1.0):
        CALLS.append("kernel")
        self.power = power

    def fit(self, X, sample_weight=None):
        self.scale_ = float(np.abs(X).mean())
        return self

    def __call__(self, X, Y=None):
        CALLS.append("Gram")
        Y = X if Y is None else Y
        return np.exp(-np.abs(X[:, None] - Y).sum(axis=2) / self.scale_)


class Halves(BaseEstimator):
    def fit(self, X, y=None):
        self.middle_ = np.median(X[:, 0])
        return self

    def predict_proba(self, X):
        CALLS.append("gate")
        return np.eye(2)[(X[:, 0] > self.middle_).astype(int)]


@dataclass(frozen=True)
class Pinball(PiecewiseLinear):
    share: float = 0.5

    def __post_init__(self):
        CALLS.append("loss")

    @property
    def lipschitz(self):
        return max(self.share, 1.0 - self.share)

    def value(self, scores, y):
        return np.maximum(self.share * (y - scores), (self.share - 1.0) * (y - scores))

    def box(self, y, C):
        return (self.share - 1.0) * C, self.share * C

    def breakpoints(self, scores, y, C):
        return y - scores, C, -self.share * float(C.sum())


class Sly(Pinball):
    def __setstate__(self, state):
        CALLS.append("state")
        self.__dict__.update(state)


number = 3
"""
PATHS = ["theirs.parts.Laplacian", "theirs.parts.Halves", "theirs.parts.Pinball"]


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """The module of another package, importable while the test runs."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "__init__.py").write_text("")
    (tmp_path / "theirs" / "parts.py").write_text(dedent(PACKAGE))
    monkeypatch.syspath_prepend(str(tmp_path))
    import theirs.parts

    yield theirs.parts
    for name in ("theirs.parts", "theirs"):
        sys.modules.pop(name)


def model_of(parts):
    kernels = [parts.Laplacian(), RBF()]
    model = CLMKLRegressor(
        kernels, loss=parts.Pinball(0.9), gate=parts.Halves(), gate_kernel=parts.Laplacian()
    )
    return model.fit(X, Y)


def test_parts_of_another_package_come_back_and_none_of_their_code_runs(parts, tmp_path):
    model, path = model_of(parts), tmp_path / "model"
    localmkl.save(model, path, trusted=PATHS)
    parts.CALLS.clear()
    again = localmkl.load(path, trusted=PATHS)
    assert parts.CALLS == []
    assert (again.loss, again.loss_) == (parts.Pinball(0.9), parts.Pinball(0.9))
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
    assert bound_model(again, X, Y) == bound_model(model, X, Y)
    by_class = localmkl.load(path, trusted=[parts.Laplacian, parts.Halves, parts.Pinball])
    assert by_class.gate_.model.middle_ == model.gate_.model.middle_


def test_parts_of_another_package_are_refused_by_name_if_they_are_not_trusted(parts, tmp_path):
    model, path = model_of(parts), tmp_path / "model"
    with pytest.raises(
        TypeError, match=r"it holds .*Pinball; .* name these classes in `trusted`, here and in"
    ):
        localmkl.save(model, path, trusted=PATHS[:2])
    assert not path.exists()
    localmkl.save(model, path, trusted=PATHS)
    with pytest.raises(ValueError, match=r"are not localmkl's: theirs\.parts\.Pinball; .* in `trusted`\.$"):
        localmkl.load(path, trusted=PATHS[:2])
    said = CliRunner().invoke(app, ["info", str(path)]).stderr
    assert "theirs.parts.Pinball; only load models" in said


def test_a_pipeline_around_a_part_of_another_package_is_not_tried_on_loading(parts, tmp_path):
    model = make_pipeline(StandardScaler(), MKLRegressor([parts.Laplacian()])).fit(X, Y)
    localmkl.save(model, tmp_path / "model", trusted=PATHS[:1])
    parts.CALLS.clear()
    again = localmkl.load(tmp_path / "model", trusted=PATHS[:1])
    assert parts.CALLS == []
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)


def test_attributes_that_hide_methods_and_states_that_run_code_are_refused(parts, tmp_path):
    model = MKLRegressor(loss=parts.Pinball(0.5)).fit(X, Y)
    object.__setattr__(model.loss_, "value", 1.0)
    with pytest.raises(ValueError, match="Pinball has no attribute 'value' of its own"):
        localmkl.save(model, tmp_path / "model", trusted=PATHS)
    model = MKLRegressor(loss=parts.Sly(0.5)).fit(X, Y)
    with pytest.raises(ValueError, match="Sly keeps a state of its own instead of attributes"):
        localmkl.save(model, tmp_path / "model", trusted=["theirs.parts.Sly"])
    assert "state" not in parts.CALLS


@pytest.mark.parametrize(
    "trusted, message",
    [
        ("theirs.parts.Pinball", "`trusted` must be a list of classes or of their paths, got 'theirs"),
        (["theirs.parts.Missing"], "must name classes to import, got 'theirs.parts.Missing' .*no attribute"),
        (["nobody.Pinball"], r"must name classes to import, got 'nobody.Pinball' \(No module named"),
        (["Pinball"], "`trusted` must name classes to import, got 'Pinball'"),
        (["theirs.parts.number"], "`trusted` must name classes, got 'theirs.parts.number', which is int"),
    ],
)
def test_a_wrong_list_of_trusted_classes_is_refused(trusted, message, parts, tmp_path):
    with pytest.raises(ValueError, match=message):
        localmkl.load(tmp_path / "model", trusted=trusted)


@pytest.mark.parametrize("loss", [*CLASSIFICATION, *REGRESSION])
def test_models_of_every_loss_come_back(loss, tmp_path):
    build, y = (MKLClassifier, LABELS) if loss in CLASSIFICATION else (MKLRegressor, Y)
    model = build(loss=loss).fit(X, y)
    localmkl.save(model, tmp_path / "model")
    again = localmkl.load(tmp_path / "model")
    assert again.loss_ == model.loss_
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
    if loss == "log_loss":
        np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("value", [None, "hinge", RBF(), -1.0])
def test_a_loss_that_is_none_is_refused(value, tmp_path):
    model = MKLRegressor().fit(X, Y)
    if value == -1.0:
        object.__setattr__(model.loss_, "epsilon", value)
    else:
        model.loss_ = value
    with pytest.raises(
        ValueError,
        match=r"cannot be saved: (its parts do not fit together: loss|`epsilon` must be at least 0)",
    ):
        localmkl.save(model, tmp_path / "model")
