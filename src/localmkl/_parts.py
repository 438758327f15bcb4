"""The parts that models consist of, and their way from a file back to objects.

A schema is a tree of nodes, each with a `__loader__` (its kind), a `__module__` and a `__class__`. Here is a
function for each kind that is harmless: values, containers, arrays, and objects of listed classes, made
without calling their constructor. Kinds that call something with arguments out of the file have none, and
nothing outside `CLASSES` and `FUNCTIONS` is ever imported because a file names it. What is checked is what is
built. Classes that the user trusts are filled with attributes as ours are; no code of theirs runs here.
"""

import json
import re
from functools import cache
from importlib import import_module
from inspect import getattr_static, signature
from math import prod

import numpy as np

from localmkl._sklearn import metric_of

PROTOCOL = 2
"""The newest protocol of skops that is known here."""

CLASSES = {
    "localmkl.estimators": [
        f"{method}{task}"
        for method in ("CLMKL", "HLMKL", "LMKL", "MKL", "UniformMKL")
        for task in ("Classifier", "Regressor")
    ],
    "localmkl.estimators.gating": [
        "ClusteringGate",
        "FeatureGateKernel",
        "GateKernel",
        "MatrixGate",
        "ModelGate",
        "OneCluster",
    ],
    "localmkl.estimators.groups": ["GroupGate"],
    "localmkl.gates": ["KernelKMeansGate"],
    "localmkl.kernels": [
        *("Chi2", "Cosine", "HistogramIntersection", "Linear", "Overlap", "Polynomial", "RBF", "Tanimoto"),
        *("GappedKmer", "Mismatch", "Spectrum", "WeightedDegree", "SmithWaterman"),
        *("PropertyProfile", "PseudoAminoAcid", "ResidueGroups", "TfIdf"),
    ],
    "localmkl.kernels.features": ["FeatureMap"],
    "localmkl.kernels.viewed": ["ViewKernel"],
    "localmkl.model_selection": ["MKLSearchCV", "OneStandardError"],
    "localmkl.solvers.losses": [
        *("Hinge", "SquaredHinge", "LogLoss"),
        *("EpsilonInsensitive", "SquaredError", "Huber", "Quantile"),
    ],
    "sklearn.calibration": ["CalibratedClassifierCV", "_CalibratedClassifier", "_SigmoidCalibration"],
    "sklearn.compose": ["ColumnTransformer", "TransformedTargetRegressor", "make_column_selector"],
    "sklearn.decomposition": ["PCA", "TruncatedSVD"],
    "sklearn.feature_selection": ["SelectKBest", "SelectPercentile", "VarianceThreshold"],
    "sklearn.frozen": ["FrozenEstimator"],
    "sklearn.impute": ["KNNImputer", "MissingIndicator", "SimpleImputer"],
    "sklearn.isotonic": ["IsotonicRegression"],
    "sklearn.metrics._scorer": ["_PassthroughScorer", "_Scorer"],
    "sklearn.mixture": ["BayesianGaussianMixture", "GaussianMixture"],
    "sklearn.model_selection": [
        *("GridSearchCV", "RandomizedSearchCV", "ParameterGrid"),
        *("GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeaveOneOut", "LeavePGroupsOut"),
        *("LeavePOut", "PredefinedSplit", "RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit"),
        *("StratifiedGroupKFold", "StratifiedKFold", "StratifiedShuffleSplit", "TimeSeriesSplit"),
    ],
    "sklearn.multiclass": ["OneVsOneClassifier", "OneVsRestClassifier"],
    "sklearn.pipeline": ["FeatureUnion", "Pipeline"],
    "sklearn.preprocessing": [
        *("FunctionTransformer", "KBinsDiscretizer", "LabelBinarizer", "LabelEncoder", "MaxAbsScaler"),
        *("MinMaxScaler", "Normalizer", "OneHotEncoder", "OrdinalEncoder", "PowerTransformer"),
        *("QuantileTransformer", "RobustScaler", "StandardScaler"),
    ],
}
"""Module of each class: its name. Scikit-learn's predict by NumPy alone: whatever the file says,
nothing is read beyond the end of an array, as could happen in trees and support vector machines."""

FUNCTIONS = {
    "numpy": [
        *("absolute", "arcsinh", "cbrt", "exp", "expm1", "log", "log10", "log1p", "log2", "sign", "sqrt"),
        *("square", "tanh"),
    ],
    "sklearn.feature_selection": ["chi2", "f_classif", "f_regression"],
}
"""Functions of numbers that parts may hold; those of scikit-learn's scorers come on top."""

HOMES = ("localmkl", "sklearn")
"""Packages whose way to set the attributes of an object is known to do no more."""

SCALARS = {
    f"{kind.__module__}.{kind.__name__}": kind
    for kind in {*np.sctypeDict.values(), bool, float, int, object, str, np.number}
    if kind not in (np.object_, np.void)
} | {"numpy.bool_": np.bool_}

HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|=]?[biufcSUmM][0-9]+(?:\[[0-9a-zA-Z]+\])?)', "
    rb"'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \} *\n",
    re.DOTALL,
)
"""First bytes of an array of plain values in the format of NumPy."""

LONGEST_ITEM = 2**16
LONGEST_NAME = 80
TWISTER = 624
"""Words of the state of the Mersenne twister, whose position NumPy does not check."""


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


def foreign(schema, trusted=()):
    """Return the names of all that a schema holds and models do not consist of, sorted."""
    names, waiting = set(), [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting += node.values()
            if "__loader__" in node and not _is_known(node, trusted):
                names.add(_shown(node))
        elif isinstance(node, list):
            waiting += node
    return sorted(names)


def _shown(node):
    """Return the name of a node as a message can show it."""
    parts = node.get("__module__"), node.get("__class__")
    if all(isinstance(part, str) and len(part) <= LONGEST_NAME and part.isprintable() for part in parts):
        return ".".join(parts)
    return "a part without a name"


def _is_known(node, trusted):
    kind, name = node["__loader__"], f"{node.get('__module__')}.{node.get('__class__')}"
    if kind not in BUILDERS:
        return False
    if kind == "ObjectNode":
        return name in trusted or _listed(CLASSES, name) is not None
    if kind == "FunctionNode":
        return _listed(_functions(), name) is not None
    return name in (SCALARS if kind == "TypeNode" else PLAIN.get(kind, PLAIN["others"]))


def _listed(homes, name):
    """Return (module, attribute) of a listed class or function; None if it is not listed.

    Where scikit-learn keeps a public class changes: what counts is the package that it is imported from.
    """
    module, _, attribute = name.rpartition(".")
    packages = module.split(".")
    homes_tried = (module, ".".join(packages[:2]), packages[0])
    return next(((home, attribute) for home in homes_tried if attribute in homes.get(home, ())), None)


@cache
def _functions():
    from sklearn.metrics import get_scorer, get_scorer_names

    scores = sorted({metric_of(get_scorer(name)).__name__ for name in get_scorer_names()})
    return FUNCTIONS | {"sklearn.metrics": scores}


class Builder:
    """Objects out of the nodes of a schema.

    Parameters
    ----------
    read : callable
        Gives the bytes of a member by its name.
    trusted : dict of str to type, optional
        Classes that the user trusts, of `import_trusted`.

    Attributes
    ----------
    objects : list
        All objects of listed classes that were built.
    strange : bool
        Whether there were objects of other classes.
    """

    def __init__(self, read, trusted=None):
        self.read = read
        self.trusted = trusted or {}
        self.objects = []
        self.strange = False
        self._built = {}

    def build(self, node):
        """Return the object of a node; nodes with one `__id__` are one object."""
        number = node.get("__id__")
        if number not in self._built:
            built = BUILDERS[node["__loader__"]](self, node)
            if number is None:
                return built
            self._built[number] = built
        return self._built[number]

    def _all(self, nodes):
        return [self.build(node) for node in nodes]

    def value(self, node):
        """Return a number, a text, a truth value or None."""
        value = json.loads(node["content"])
        if isinstance(value, dict | list):
            raise ValueError("a value is no number or text")
        return value

    def dictionary(self, node):
        """Return a dict; JSON has its keys as text, the types stand beside it."""
        kinds = [SCALARS[_name(kind)] for kind in node["key_types"]["content"]]
        pairs = zip(kinds, node["content"].items(), strict=True)
        return {kind(key): self.build(value) for kind, (key, value) in pairs}

    def list(self, node):
        """Return a list."""
        return self._all(node["content"])

    def tuple(self, node):
        """Return a tuple."""
        return tuple(self._all(node["content"]))

    def set(self, node):
        """Return a set."""
        return set(self._all(node["content"]))

    def slice(self, node):
        """Return a slice between numbers."""
        ends = [node["content"][name] for name in ("start", "stop", "step")]
        if not all(end is None or isinstance(end, int) for end in ends):
            raise ValueError("a slice has other ends than numbers")
        return slice(*ends)

    def bytes(self, node):
        """Return bytes."""
        return self.read(node["file"])

    def kind(self, node):
        """Return a type of numbers or text."""
        return SCALARS[_name(node)]

    def function(self, node):
        """Return a listed function."""
        home, attribute = _listed(_functions(), _name(node))
        return getattr(import_module(home), attribute)

    def dtype(self, node):
        """Return the type of the entries of an array."""
        return self.array(node["content"]).dtype

    def array(self, node):
        """Return an array, or one of NumPy's numbers."""
        if node["type"] == "json":
            return _of_objects(self._all(node["content"]), self.build(node["shape"]))
        array = parse_array(self.read(node["file"]))
        kind = SCALARS.get(_name(node))
        if kind is None:
            return array
        if array.ndim or array.dtype.type is not kind:
            raise ValueError("a number has another type than it says")
        return array[()]

    def masked(self, node):
        """Return a masked array."""
        return np.ma.MaskedArray(*(self.build(node["content"][part]) for part in ("data", "mask")))

    def random_state(self, node):
        """Return a random state."""
        state = self.build(node["content"])
        inner = state["state"]
        if inner["key"].shape != (TWISTER,) or not 0 <= inner["pos"] <= TWISTER:
            raise ValueError("a random state is not one")
        random_state = np.random.RandomState(0)
        random_state.set_state(state)
        return random_state

    def object(self, node):
        """Return an object of a listed class with its attributes; no constructor is called."""
        listed = _listed(CLASSES, _name(node))
        attributes = self.build(node["content"]) if "content" in node else None
        if listed is None:
            self.strange = True
            return _filled(self.trusted[_name(node)], attributes)
        home, attribute = listed
        cls = getattr(import_module(home), attribute)
        made = cls.__new__(cls)
        if attributes is not None:
            _check_own(cls, attributes)
            getattr(made, "__setstate__", made.__dict__.update)(attributes)
        self.objects.append(made)
        return made


def _filled(cls, attributes):
    """Return an object of a trusted class with its attributes; of its code, nothing is run."""
    setters = {base.__module__.partition(".")[0] for base in cls.__mro__ if "__setstate__" in vars(base)}
    if setters.difference(HOMES) or not isinstance(attributes, dict | None):
        raise ValueError(f"{cls.__name__} keeps a state of its own instead of attributes")
    _check_own(cls, attributes or {}, defaults=(bool, bytes, float, int, str, tuple, type(None)))
    made = object.__new__(cls)
    if setters:
        cls.__setstate__(made, attributes or {})
    else:
        object.__getattribute__(made, "__dict__").update(attributes or {})
    return made


def _check_own(cls, attributes, defaults=()):
    """Raise if an attribute would hide one of its class, unless that is a parameter or such a default."""
    hidden = set(attributes).intersection(dir(cls)).difference(signature(cls).parameters)
    hidden = {name for name in hidden if not isinstance(getattr_static(cls, name), defaults)}
    if hidden:
        raise ValueError(f"{cls.__name__} has no attribute {min(hidden)!r} of its own")


def parse_array(content):
    """Return an array of plain values; its shape must fit the bytes that are there."""
    header = HEADER.match(content)
    if header is None:
        raise ValueError("an array does not begin as arrays do")
    dtype = np.dtype(header[1].decode())
    shape = tuple(int(size) for size in header[3].decode().split(",") if size.strip())
    claimed = prod(shape) * max(dtype.itemsize, 1)
    if claimed != len(content) - header.end() or dtype.itemsize > max(LONGEST_ITEM, claimed):
        raise ValueError(f"an array claims {claimed:,} bytes, {len(content) - header.end():,} are there")
    flat = np.ndarray(prod(shape), dtype, content, header.end())
    return flat.reshape(shape, order="F" if header[2] == b"True" else "C").copy(order="K")


def _of_objects(items, shape):
    """Return an array of objects; of more axes than one, `items` holds lists."""
    for _ in shape[1:]:
        items = [one for item in items for one in item]
    array = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        array[place] = item
    return array.reshape(shape)


def _name(node):
    return f"{node['__module__']}.{node['__class__']}"


PLAIN = {
    "NdArrayNode": {"numpy.ndarray", *SCALARS},
    "others": {
        *("builtins.bytes", "builtins.dict", "builtins.list", "builtins.set", "builtins.slice"),
        *("builtins.str", "builtins.tuple", "collections.OrderedDict", "numpy.dtype"),
        *("numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray", "numpy.random.mtrand.RandomState"),
    },
}
"""Kind of a node: the names that it may have."""

BUILDERS = {
    "BytesNode": Builder.bytes,
    "DTypeNode": Builder.dtype,
    "DictNode": Builder.dictionary,
    "FunctionNode": Builder.function,
    "JsonNode": Builder.value,
    "ListNode": Builder.list,
    "MaskedArrayNode": Builder.masked,
    "NdArrayNode": Builder.array,
    "ObjectNode": Builder.object,
    "RandomStateNode": Builder.random_state,
    "SetNode": Builder.set,
    "SliceNode": Builder.slice,
    "TupleNode": Builder.tuple,
    "TypeNode": Builder.kind,
}
"""Kind of a node in the words of skops: how it is built."""
