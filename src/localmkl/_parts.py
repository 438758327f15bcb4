"""The parts that models consist of, as a tree of plain values and a list of arrays, and back.

None, numbers, texts and lists stand for themselves. All else is a dict with its ``kind``:

    dict          pairs                   array     dtype, shape; the numbers are in the list
    tuple, set    items                   object    class, state: its attributes
    function, type, dtype: a name         same      number of an object or array that came before

Objects are made without calling their constructor. Nothing outside the lists below is ever imported because a
file names it, and there is no kind that would call something. Classes that the user trusts are filled with
attributes as ours are; no code of theirs runs here.
"""

from collections import OrderedDict
from functools import cache
from importlib import import_module
from inspect import getattr_static, signature

import numpy as np

from localmkl._sklearn import metric_of

OURS = (
    "localmkl.estimators",
    "localmkl.estimators.gating",
    "localmkl.estimators.groups",
    "localmkl.gates",
    "localmkl.kernels",
    "localmkl.kernels.features",
    "localmkl.kernels.viewed",
    "localmkl.model_selection",
    "localmkl.solvers.losses",
)
"""Modules whose classes may be parts of a model; all that such a class gets is attributes."""

THEIRS = {
    "sklearn.calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration",
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor make_column_selector",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.feature_selection": "SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.frozen": "FrozenEstimator",
    "sklearn.impute": "KNNImputer MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.metrics._scorer": "_PassthroughScorer _Scorer",
    "sklearn.mixture": "BayesianGaussianMixture GaussianMixture",
    "sklearn.model_selection": (
        "GridSearchCV RandomizedSearchCV ParameterGrid GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut "
        "LeaveOneOut LeavePGroupsOut LeavePOut PredefinedSplit RepeatedKFold RepeatedStratifiedKFold "
        "ShuffleSplit StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit"
    ),
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": (
        "FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler "
        "Normalizer OneHotEncoder OrdinalEncoder PowerTransformer QuantileTransformer RobustScaler "
        "StandardScaler"
    ),
}
"""Module: its classes. Scikit-learn's predict by NumPy alone: whatever the file says, nothing is read beyond
the end of an array, as could happen in trees and support vector machines."""

FUNCTIONS = {
    "numpy": "absolute arcsinh cbrt exp expm1 log log10 log1p log2 sign sqrt square tanh",
    "sklearn.feature_selection": "chi2 f_classif f_regression",
}
"""Functions of numbers that parts may hold; those of scikit-learn's scorers come on top."""

TYPES = {"bool": bool, "float": float, "int": int, "object": object, "str": str, "numpy.bool_": np.bool_} | {
    f"numpy.{kind.__name__}": kind for kind in np.sctypeDict.values() if kind not in (np.object_, np.void)
}
NAMES = {kind: name for name, kind in TYPES.items()}


def import_trusted(trusted):
    """Return the classes that a user trusts by the names that files have for them.

    Parameters
    ----------
    trusted : list of str or type
        Paths such as ``"package.module.Class"``, or the classes.
    """
    if isinstance(trusted, str | type):
        raise ValueError(f"`trusted` must be a list of classes or of their paths, got {trusted!r}.")
    classes = [entry if isinstance(entry, type) else _imported(entry) for entry in trusted]
    return {f"{cls.__module__}.{cls.__name__}": cls for cls in classes}


def _imported(path):
    """Return the class of a path that the user gave."""
    module, _, attribute = str(path).rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except (AttributeError, ImportError, ValueError) as error:
        raise ValueError(f"`trusted` must name classes to import, got {path!r} ({error}).") from error
    if not isinstance(found, type):
        raise ValueError(f"`trusted` must name classes, got {path!r}, which is {type(found).__name__}.")
    return found


def public_class(name):
    """Return a listed class by its name; None if models do not consist of such.

    Where a package keeps a class changes: any deeper place is taken for the listed one.

    Examples
    --------
    >>> public_class("sklearn.preprocessing._data.StandardScaler")
    <class 'sklearn.preprocessing._data.StandardScaler'>
    >>> public_class("os.system")
    """
    found = _listed(name, OURS + tuple(THEIRS))
    if found is None or (found[0] in THEIRS and found[1] not in THEIRS[found[0]].split()):
        return None
    cls = getattr(import_module(found[0]), found[1], None)
    foreign = not isinstance(cls, type) or not cls.__module__.startswith(found[0])
    return None if foreign else cls


def public_function(name):
    """Return a listed function by its name; None if models do not hold it."""
    found = _listed(name, ("sklearn.metrics", *FUNCTIONS))
    names = () if found is None else _scores() if found[0] not in FUNCTIONS else FUNCTIONS[found[0]].split()
    return getattr(import_module(found[0]), found[1]) if found is not None and found[1] in names else None


def _listed(name, homes):
    """Return (module, attribute) of a name whose module, or one that holds it, is among some; else None."""
    module, _, attribute = name.rpartition(".")
    packages = module.split(".")
    tried = (module, ".".join(packages[:2]), packages[0])
    return next(((home, attribute) for home in tried if home in homes), None)


@cache
def _scores():
    from sklearn.metrics import get_scorer, get_scorer_names

    return {metric_of(get_scorer(name)).__name__ for name in get_scorer_names()}


class Writer:
    """The tree of a model.

    Parameters
    ----------
    trusted : dict of str to type
        Of `import_trusted`.

    Attributes
    ----------
    arrays : list of ndarray
        In the order of the tree.
    objects : list
        All objects whose classes are listed or trusted.
    foreign : set of str
        Names of all that models do not consist of.
    """

    def __init__(self, trusted):
        self.trusted, self.arrays, self.objects, self.foreign = trusted, [], [], set()
        self._numbers, self._kept = {}, []

    def tree(self, value):
        """Return what stands for a value in the tree."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if type(value) is np.str_:
            return str(value)
        if type(value) is list:
            return [self.tree(item) for item in value]
        if id(value) in self._numbers:
            return {"kind": "same", "number": self._numbers[id(value)]}
        if isinstance(value, np.ndarray):
            node = self._array(value)
        elif isinstance(value, type) or (callable(value) and hasattr(value, "__name__")):
            return self._named(value)
        elif (plain := self._plain(value)) is not None:
            return plain
        else:
            node = self._object(value)
        self._numbers[id(value)] = len(self._numbers)
        self._kept.append(value)  # its id is its own as long as it is there
        return node

    def _plain(self, value):
        """Return the node of a container or of a value of its own kind; None of an object."""
        if type(value) in (dict, OrderedDict):
            pairs = [[self.tree(key), self.tree(entry)] for key, entry in value.items()]
            return {"kind": "dict", "pairs": pairs}
        if type(value) in (tuple, set):
            return {"kind": type(value).__name__, "items": [self.tree(item) for item in value]}
        if isinstance(value, np.generic) and type(value) in NAMES:
            return {"kind": "number", "array": self._array(np.asarray(value))}
        if isinstance(value, np.dtype):
            return {"kind": "dtype", "name": value.str}
        if isinstance(value, slice):
            return {"kind": "slice", "items": [value.start, value.stop, value.step]}
        if type(value) is bytes:
            return {"kind": "bytes", "array": self._array(np.frombuffer(value, np.uint8))}
        if type(value) is np.random.RandomState:
            return {"kind": "random_state", "state": self.tree(value.get_state(legacy=False))}
        return None

    def _array(self, array):
        if isinstance(array, np.ma.MaskedArray):
            return {"kind": "masked", "data": self.tree(array.data), "mask": self.tree(array.mask)}
        if array.dtype == object:
            items = [self.tree(item) for item in array.ravel().tolist()]
            return {"kind": "objects", "items": items, "shape": list(array.shape)}
        if array.dtype.kind not in "biufcSUmM" or array.dtype.itemsize == 0:
            self.foreign.add(f"an array of {array.dtype}")
        turned = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        array = np.ascontiguousarray(array.T if turned else array).reshape(
            array.shape[:: -1 if turned else 1]
        )
        self.arrays.append(array)
        return {"kind": "array", "dtype": array.dtype.str, "shape": list(array.shape), "turned": turned}

    def _named(self, value):
        if isinstance(value, type) and value in NAMES:
            return {"kind": "type", "name": NAMES[value]}
        module = "numpy" if isinstance(value, np.ufunc) else getattr(value, "__module__", None)
        name = f"{module}.{value.__name__}"
        if isinstance(value, type) or public_function(name) is not value:
            self.foreign.add(name)
        return {"kind": "function", "name": name}

    def _object(self, value):
        name = f"{type(value).__module__}.{type(value).__name__}"
        if name not in self.trusted and public_class(name) is not type(value):
            self.foreign.add(name)
            return None
        state = value.__getstate__()
        check_state(type(value), {} if state is None else state, name in self.trusted)
        node = {"kind": "object", "class": name, "state": self.tree(state)}
        self.objects.append(value)
        return node


def check_state(cls, attributes, is_foreign):
    """Raise if an object of a class keeps more than attributes, or one would hide a method of its class."""
    setters = {base.__module__.partition(".")[0] for base in cls.__mro__ if "__setstate__" in vars(base)}
    if not isinstance(attributes, dict) or (is_foreign and setters.difference(("localmkl", "sklearn"))):
        raise ValueError(f"{cls.__name__} keeps a state of its own instead of attributes")
    defaults = (bool, bytes, float, int, str, tuple, type(None)) if is_foreign else ()
    hidden = set(attributes).intersection(dir(cls)).difference(signature(cls).parameters)
    hidden = {name for name in hidden if not isinstance(getattr_static(cls, name), defaults)}
    if hidden:
        raise ValueError(f"{cls.__name__} has no attribute {min(hidden)!r} of its own")


def foreign_names(tree, trusted):
    """Return the names of all classes and functions in a tree that models do not consist of, sorted."""
    found, waiting = set(), [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            name = str(node.get("class") if node.get("kind") == "object" else node.get("name"))
            known = node.get("kind") not in ("object", "function")
            known = known or name in trusted or public_class(name) or public_function(name)
            found |= set() if known else {name}
    return sorted(
        name if len(name) <= 160 and name.isprintable() else "a part without a name" for name in found
    )


class Reader:
    """Objects out of a tree.

    Parameters
    ----------
    next_array : callable
        Gives the next array of a type and a shape.
    trusted : dict of str to type
        Of `import_trusted`.

    Attributes
    ----------
    objects : list
        All objects that were made.
    """

    def __init__(self, next_array, trusted):
        self.next_array, self.trusted, self.objects, self._numbered = next_array, trusted, [], []

    def build(self, node):
        """Return the value of a node."""
        if isinstance(node, list):
            return [self.build(item) for item in node]
        if not isinstance(node, dict):
            return node
        kind = node["kind"]
        if kind == "same":
            return self._numbered[node["number"]]
        if kind in ("array", "masked", "objects", "object"):
            made = self._object(node) if kind == "object" else self._array(node)
            self._numbered.append(made)
            return made
        return self._plain(kind, node)

    def _plain(self, kind, node):
        if kind == "dict":
            return {self.build(key): self.build(value) for key, value in node["pairs"]}
        if kind in ("tuple", "set"):
            return {"tuple": tuple, "set": set}[kind](map(self.build, node["items"]))
        if kind == "number":
            return self._array(node["array"])[()]
        if kind == "dtype":
            return np.dtype(str(node["name"]))
        if kind == "type":
            return TYPES[node["name"]]
        if kind == "slice":
            return slice(*(None if end is None else int(end) for end in node["items"]))
        if kind == "bytes":
            return self._array(node["array"]).tobytes()
        if kind == "random_state":
            return self._random_state(self.build(node["state"]))
        if kind == "function":
            return public_function(node["name"])
        raise ValueError("it holds a part of an unknown kind")

    def _array(self, node):
        if node["kind"] == "masked":
            return np.ma.MaskedArray(self.build(node["data"]), self.build(node["mask"]))
        if node["kind"] == "objects":
            array = np.empty(len(node["items"]), dtype=object)
            for place, item in enumerate(node["items"]):
                array[place] = self.build(item)
            return array.reshape(node["shape"])
        array = self.next_array(node["dtype"], node["shape"])
        return array.T if node["turned"] else array

    @staticmethod
    def _random_state(state):
        inner, made = state["state"], np.random.RandomState(0)
        if inner["key"].shape != (624,) or not 0 <= inner["pos"] <= 624:  # NumPy does not check this
            raise ValueError("a random state is not one")
        made.set_state(state)
        return made

    def _object(self, node):
        name, attributes = node["class"], self.build(node["state"]) or {}
        is_foreign = name in self.trusted
        cls = self.trusted[name] if is_foreign else public_class(name)
        check_state(cls, attributes, is_foreign)
        made = object.__new__(cls)
        if hasattr(cls, "__setstate__"):
            cls.__setstate__(made, attributes)
        else:
            object.__getattribute__(made, "__dict__").update(attributes)
        self.objects.append(made)
        return made
