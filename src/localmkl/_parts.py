"""The parts that models consist of, and their way from a file back to objects.

A schema is a tree of nodes, each with a `__loader__` (its kind), a `__module__` and a `__class__`. Here is a
function for each kind that is harmless: values, containers, arrays, and objects of listed classes, made
without calling their constructor. Kinds that call something with arguments out of the file have none, and
nothing outside `CLASSES` and `FUNCTIONS` is ever imported. What is checked is what is built.
"""

import json
import re
from functools import cache
from importlib import import_module
from inspect import signature
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
    "localmkl.estimators.gating": ["GateKernel", "KMeansGate", "MatrixGate", "ModelGate", "OneCluster"],
    "localmkl.gates": ["KernelKMeansGate"],
    "localmkl.kernels": [
        *("Chi2", "HistogramIntersection", "Linear", "Polynomial", "RBF"),
        *("GappedKmer", "Mismatch", "Spectrum", "WeightedDegree", "SmithWaterman"),
        *("PropertyProfile", "PseudoAminoAcid", "ResidueGroups"),
    ],
    "localmkl.model_selection": ["MKLSearchCV"],
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


def foreign(schema):
    """Return the names of all that a schema holds and models do not consist of, sorted."""
    names, waiting = set(), [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting += node.values()
            if "__loader__" in node and not _is_known(node):
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


def _is_known(node):
    kind, name = node["__loader__"], f"{node.get('__module__')}.{node.get('__class__')}"
    if kind not in BUILDERS:
        return False
    if kind == "ObjectNode":
        return _listed(CLASSES, name) is not None
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

    Attributes
    ----------
    objects : list
        All objects of listed classes that were built.
    """

    def __init__(self, read):
        self.read = read
        self.objects = []
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
        home, attribute = _listed(CLASSES, _name(node))
        cls = getattr(import_module(home), attribute)
        made = cls.__new__(cls)
        attributes = self.build(node["content"]) if "content" in node else None
        if attributes is not None:
            hidden = set(attributes).intersection(dir(cls)).difference(signature(cls).parameters)
            if hidden:
                raise ValueError(f"{attribute} has no attribute {min(hidden)!r} of its own")
            getattr(made, "__setstate__", made.__dict__.update)(attributes)
        self.objects.append(made)
        return made


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
