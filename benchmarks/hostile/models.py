"""Mutated model files: by accident, and by somebody who seals them anew.

A defect is a file whose loading writes, runs or connects to anything, takes more than 1 GB of memory, or
ends in anything but one sentence; a model that loads and then fails, or predicts what is not finite; and,
where the checksums were not computed anew, one that predicts anything else than before. Who computes them
anew can write another model, whole and harmless: such are counted as "another".
"""

import atexit
import builtins
import hashlib
import io
import json
import os
import pkgutil
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import localmkl
from localmkl.cli import app
from localmkl.datasets import make_localized
from localmkl.kernels import Spectrum, WeightedDegree
from localmkl.model_selection import MKLSearchCV

TRIALS, SHORT, LIMIT = 1000, 11, 60.0  # the first trial of a process also makes the models
MEMORY = 2**30
COMMAND_LINE_EVERY = 4
"""Every so many trials the file also goes through the command line."""

SHOWN = 400
"""Letters of a defect that are kept."""

HEADER = b"\x93NUMPY\x01\x00v\x00"


def trial(seed):
    """Throw one kind of mutation at one model, and look what comes of it."""
    rng = random.Random(seed)
    mutate = MUTATIONS[seed % len(MUTATIONS)]
    name = rng.choice(sorted(BASES))
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for sealed, content in mutate(rng, seed // len(MUTATIONS), base(name).content):
            rows.append(_look(Path(folder), base(name), content, sealed))
            if rows[-1][1]:
                break
        if rows[-1][1] is None and seed % COMMAND_LINE_EVERY == 0:
            defect = _defect_by_command(Path(folder), base(name), content)
            rows.append(("failed", defect) if defect else rows[-1])
    verdict, defect = rows[-1]
    return {
        "verdict": verdict,
        "defect": defect and f"{mutate.__name__} of {name}: {defect}"[:SHOWN],
        "mutation": mutate.__name__,
        "model": name,
        "files": len(rows),
    }


# What happens


def _look(folder, base, content, sealed):
    """Return the verdict on a file, and the defect if there is one."""
    path = folder / "mutated.localmkl"
    path.write_bytes(content)
    watched = folder / "watched"
    watched.mkdir(exist_ok=True)
    try:
        with _guarded(watched) as seen:
            try:
                model = localmkl.load(path)
            except ValueError as error:
                return _judged("refused", str(error), seen, watched)
            got = base.answer(model)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    if seen or os.listdir(watched):
        return "acted", f"{seen or os.listdir(watched)}"
    if np.array_equal(got, base.expected):
        return "equal", None
    if sealed and got.shape == base.expected.shape and (got.dtype.kind != "f" or np.isfinite(got).all()):
        return "another", None
    return "different", "other answers"


def _judged(verdict, text, seen, watched):
    if seen or os.listdir(watched):
        return "acted", f"{seen or os.listdir(watched)}"
    if "\n" in text or len(text) > 1000 or not text.endswith("."):
        return "unclear", f"not one sentence: {text!r}"
    return verdict, None


def _defect_by_command(folder, base, content):
    """Return what is wrong with ``localmkl info`` and ``localmkl predict`` of a file, or None."""
    path = folder / "mutated.localmkl"
    path.write_bytes(content)
    for command in (
        ["info", str(path)],
        ["info", "--json", str(path)],
        ["predict", str(path), str(base.data)],
    ):
        with _guarded(folder / "watched") as seen:
            result = CliRunner().invoke(app, command)
        told = result.stderr.strip()
        wrong = result.exit_code not in (0, 1) or "please report" in told or "Traceback" in told
        if wrong or (result.exit_code == 1 and told.count("Error: ") != 1):
            return f"{command[0]} ended with {result.exit_code}: {told or result.exception!r}"
        if seen:
            return f"{command[0]} acted: {seen}"
    return None


@contextmanager
def _guarded(watched):
    """Run with a limit of memory, in a folder that is watched, and note what is done to the world."""
    with open("/proc/self/statm", encoding="ascii") as pages:
        used = int(pages.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    here = os.getcwd()
    _hook()
    os.chdir(watched)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    NOTED.clear()
    sys.path.insert(0, str(PLANTED))
    NOTED.on = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield NOTED
    finally:
        NOTED.on = False
        sys.path.remove(str(PLANTED))
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        os.chdir(here)


class _Noted(list):
    on = False


NOTED = _Noted()
PLANTED = Path(__file__).parent / "planted"
"""A folder that is not there: modules that files name would be looked for in it."""

ACTS = (
    *(
        "os.",
        "subprocess.",
        "socket.",
        "shutil.",
        "ftplib.",
        "smtplib.",
        "urllib.",
        "ctypes.",
        "pty.",
        "webbrowser.",
    ),
    *("signal.", "sqlite3.", "tempfile.", "pickle.", "builtins.input"),
)
HARMLESS = ("os.listdir", "os.scandir", "os.putenv", "os.unsetenv")
CALLERS = ("llvmlite", "numba", "threadpoolctl")
"""Packages whose calls of compiled libraries are their work: Python 3.14 tells of each."""


@cache
def _hook():
    sys.addaudithook(_note)


def _note(event, arguments):
    """Note what an audit event tells, of those that change the world or run something."""
    if not NOTED.on:
        return
    if event == "open" and _writes(*arguments):
        NOTED.append(f"open {arguments[0]}")
    elif event == "ctypes.call_function" and _caller() in CALLERS:
        pass
    elif event.startswith(ACTS) and event not in HARMLESS and not event.startswith("ctypes.d"):
        NOTED.append(f"{event} {arguments}"[:200])


def _caller():
    """Return the package of the code whose event is noted."""
    return str(sys._getframe(2).f_globals.get("__name__")).partition(".")[0]


def _writes(path, mode, flags):
    cached = str(path).endswith((".pyc", ".nbi", ".nbc")) or ".pyc." in str(path)
    return (
        not cached
        and path != os.devnull
        and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND))
    )


# What is mutated


class Base:
    """A model file, its answers on some rows, and a file of these rows for the command line."""

    def __init__(self, model, rows, data):
        self.rows, self.data = rows, data
        self.content = _canonical(_saved(model))
        self.expected = self.answer(model)

    def answer(self, model):
        """Return all that a model says of the rows."""
        parts = [model.predict(self.rows)]
        parts += [model.decision_function(self.rows)] if hasattr(model, "decision_function") else []
        parts = [np.asarray(part) for part in parts]
        if any(part.dtype.kind not in "fiub" for part in parts):
            return np.array([str(entry) for part in parts for entry in part.ravel()])
        return np.concatenate([part.ravel().astype(float) for part in parts])


@cache
def base(name):
    """Return a model by its name in `BASES`, with its answers."""
    return BASES[name]()


@cache
def _folder():
    """Return a folder with the rows as files; it goes when the process ends."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    X, y, *_ = _data()
    names = [f"x{i}" for i in range(X.shape[1])]
    _write_table(folder / "table.csv", [*names, "label"], np.c_[X, y])
    _write_table(folder / "new.csv", names, _new())
    sequences = "".join(f">s{number}\n{text}\n" for number, text in enumerate(_sequences()[:9]))
    (folder / "new.fasta").write_text(sequences)
    return folder


def _write_table(path, names, rows):
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="")


@cache
def _data():
    return make_localized(40, random_state=0)


@cache
def _new():
    return make_localized(10, random_state=1).X


@cache
def _sequences():
    letters = np.random.default_rng(0).choice(list("ACGT"), size=(30, 12))
    return np.array(["".join(row) for row in letters], dtype=object)


def _on_table(model, y=None):
    X, labels, *_ = _data()
    return Base(model.fit(X, labels if y is None else y), _new(), _folder() / "new.csv")


def _by_command():
    """Return a model that ``localmkl fit`` has written."""
    import pandas as pd

    path = _folder() / "model"
    result = CliRunner().invoke(
        app, ["fit", str(_folder() / "table.csv"), "--target", "label", "--out", str(path)]
    )
    if result.exit_code:
        raise RuntimeError(result.output)
    model = localmkl.load(path)
    model.made_ |= {"seconds": 1.0, "date": "2026-01-01", "file": "table.csv", "commit": None, "cpu": "some"}
    return Base(model, pd.DataFrame(_new()).add_prefix("x"), _folder() / "new.csv")


def _of_sequences():
    kernels = [WeightedDegree(1), WeightedDegree(3, shift=1), Spectrum(2)]
    model = localmkl.MKLClassifier(kernels, tol=1e-2).fit(_sequences(), np.arange(30) % 2)
    return Base(model, _sequences()[:9], _folder() / "new.fasta")


def _precomputed():
    X, y, *_ = _data()
    grams = localmkl.GramStack(np.stack([X @ X.T, (X @ X.T) ** 2]))
    return Base(
        localmkl.CLMKLClassifier("precomputed", **QUICK).fit(grams, y), grams[:9], _folder() / "new.csv"
    )


QUICK = {"tol": 1e-2, "random_state": 0}
BASES = {
    "command": _by_command,
    "clmkl": lambda: _on_table(
        localmkl.CLMKLClassifier(n_clusters=2, **QUICK), np.array(["a", "b", "c"])[_data()[2]]
    ),
    "hlmkl": lambda: _on_table(localmkl.HLMKLRegressor(n_clusters=2, **QUICK), _data()[0][:, 0]),
    "lmkl": lambda: _on_table(localmkl.LMKLClassifier(**QUICK)),
    "mixture": lambda: _on_table(localmkl.CLMKLClassifier(gate=GaussianMixture(2, random_state=0), **QUICK)),
    "sequences": _of_sequences,
    "precomputed": _precomputed,
    "pipeline": lambda: _on_table(
        make_pipeline(SimpleImputer(), StandardScaler(), localmkl.MKLClassifier(tol=1e-2))
    ),
    "search": lambda: _on_table(
        MKLSearchCV(localmkl.MKLClassifier(tol=1e-2), {"C": [0.1, 1.0]}, cv=2, scoring="roc_auc")
    ),
}
"""Name: how the model is made."""


# The container, as somebody who wants to deceive writes it


def _take_apart(content):
    """Return the schema and the other members, without the manifest."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != "localmkl.json"}
    return json.loads(members.pop("schema.json")), members


def _put_together(schema, members, *, seal=True, manifest=None, compression=zipfile.ZIP_STORED):
    """Return the file; sealed, with a manifest whose checksums are right."""
    members = {**members, "schema.json": json.dumps(schema, indent=2).encode()}
    if seal:
        sums = {name: hashlib.sha256(member).hexdigest() for name, member in members.items()}
        entries = {"format": 1, "localmkl": localmkl.__version__, "skops": "0.11", "members": sums}
        members["localmkl.json"] = json.dumps({**entries, **(manifest or {})}).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name), member, compress_type=compression)
    return buffer.getvalue()


def _canonical(content):
    """Return the file with ids that do not depend on where objects lay in memory."""
    schema, members = _take_apart(content)
    numbers = {}
    for node in _nodes(schema):
        number = numbers.setdefault(node["__id__"], len(numbers) + 1)
        node["__id__"] = number
        if "file" in node:
            name = f"{number}.npy"
            if node["file"] in members:
                members[name + "!"] = members.pop(node["file"])
            node["file"] = name
    return _put_together(
        schema, {name.rstrip("!"): member for name, member in members.items() if name.endswith("!")}
    )


def _nodes(tree):
    """Return all nodes of a schema, in order."""
    if isinstance(tree, dict):
        own = [tree] if "__loader__" in tree else []
        return own + [node for value in tree.values() for node in _nodes(value)]
    return [node for value in tree for node in _nodes(value)] if isinstance(tree, list) else []


def _places(tree, path=()):
    """Return the path of everything in a schema."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, value in pairs for place in _places(value, (*path, key)))]


def _replace(tree, old, new):
    """Put a node in place of another, wherever that stands."""
    for parent in [_at(tree, place) for place in _places(tree)]:
        if isinstance(parent, dict | list):
            for key, value in list(parent.items() if isinstance(parent, dict) else enumerate(parent)):
                if value is old:
                    parent[key] = new


def _at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


# Mutations: functions of (rng, number, content) that yield pairs (were the checksums computed anew, content)


def flip(rng, number, content):
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    yield False, bytes(content)


def cut(rng, number, content):
    start = rng.randrange(len(content))
    stop = min(len(content), start + rng.choice([1, 10, 1000, 10**6]))
    noise = rng.randbytes(stop - start)
    yield (
        False,
        rng.choice(
            [
                content[:start],
                content[start:],
                content[:start] + content[stop:],
                content[:start] + noise + content[stop:],
                content[:start] + bytes(stop - start) + content[stop:],
                content[:start] + noise + content[start:],
                content + noise,
                noise + content,
                content + content,
            ]
        ),
    )


def swap_members(rng, number, content):
    """Exchange members under a manifest that is not adapted."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    one, other = rng.sample(sorted(members), 2)
    change = rng.choice(["swap", "copy", "drop", "flip", "rename"])
    if change == "swap":
        members[one], members[other] = members[other], members[one]
    elif change == "copy":
        members[one] = members[other]
    elif change == "drop":
        del members[one]
    elif change == "rename":
        members[rng.choice(["../../evil.npy", "/etc/evil.npy", "evil.py", "a/b.npy", "999999.npy"])] = (
            members.pop(one)
        )
    else:
        changed = bytearray(members[one])
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        members[one] = bytes(changed)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name), member)
    yield False, buffer.getvalue()


WEIRD = [
    *(None, True, -1, 0, 1, 7, 10**6, 2**31, 2**63, 10**30, 1.5, -1e308, float("nan"), float("inf")),
    *("", "x", "null", "-1", "NaN", "1e400", "10000000000", '"text"', "[]", "{}", "true", "os", "\u0000"),
    *([], {}, [[]], {"__loader__": "JsonNode"}, ["__loader__"]),
]


def edit_schema(rng, number, content):
    """Change something in the schema: remove, replace, exchange, repeat."""
    schema, members = _take_apart(content)
    # half of a schema are the types of keys: these not more often than anything else
    places = [
        place for place in _places(schema) if place and ("key_types" not in place or rng.random() < 0.1)
    ]
    for _ in range(rng.choice([1, 1, 2])):
        *way, last = rng.choice(places)
        try:
            parent = _at(schema, way)
            change = rng.choice(["remove", "replace", "replace", "exchange", "value"])
            if change == "remove":
                del parent[last]
            elif change == "replace":
                parent[last] = deepcopy(rng.choice(WEIRD))
            elif change == "exchange":
                parent[last] = deepcopy(_at(schema, rng.choice(places)))
            else:
                node = rng.choice([node for node in _nodes(schema) if node["__loader__"] == "JsonNode"])
                node["content"] = json.dumps(rng.choice(WEIRD))
        except (KeyError, IndexError, TypeError):
            continue  # the first change took the place of the second
    yield True, _put_together(schema, members)


def edit_attribute(rng, number, content):
    """Remove an attribute of some object, add one, or replace it by another object's or a strange value."""
    schema, members = _take_apart(content)
    owners = [node for node in _nodes(schema) if node["__loader__"] == "ObjectNode"]
    owners = [node for node in owners if node["content"]["__loader__"] == "DictNode"]
    attributes, other = rng.choice(owners)["content"], rng.choice(owners)["content"]
    keys = list(attributes["content"])
    key = rng.choice(keys)
    change = rng.choice(["remove", "value", "value", "other", "add"])
    if change == "remove":
        del attributes["content"][key]
        attributes["key_types"]["content"].pop()
    elif change == "value":
        attributes["content"][key] = _value(rng.choice(WEIRD[:27]))
    elif change == "other":
        attributes["content"][key] = deepcopy(rng.choice(list(other["content"].values())))
    else:
        name = rng.choice(
            ["predict", "__class__", "_decide", "_repr_html_", "extra", "_check_rows", "__dict__"]
        )
        attributes["content"][name] = deepcopy(rng.choice(list(other["content"].values())))
        attributes["key_types"]["content"].append(
            {"__loader__": "TypeNode", "__module__": "builtins", "__class__": "str"}
        )
    yield True, _put_together(schema, members)


def _value(value):
    return {
        "__loader__": "JsonNode",
        "__module__": "builtins",
        "__class__": "str",
        "content": json.dumps(value),
    }


def edit_array(rng, number, content):
    """Change the numbers, the type or the shape of an array."""
    schema, members = _take_apart(content)
    name = rng.choice(sorted(name for name in members if name.endswith(".npy")))
    array = np.load(io.BytesIO(members[name]))
    flat = array.ravel().copy()
    if flat.dtype.kind == "f" and flat.size:
        flat[rng.randrange(flat.size)] = rng.choice(
            [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, -1.0, 0.0]
        )
    changed = rng.choice(
        [
            flat.reshape(array.shape),
            flat.reshape(array.shape),
            array[:-1] if array.ndim else array[None],
            array[..., None],
            array.ravel(),
            array.T,
            array.astype(
                rng.choice(["f4", "i8", "U8", "c16", "S3", "?", "M8[s]"])
                if array.dtype.kind in "fiu"
                else "U3"
            ),
            np.concatenate([array, array]) if array.ndim else array,
            array[:0] if array.ndim else array,
            np.asfortranarray(array),
        ]
    )
    buffer = io.BytesIO()
    np.save(buffer, changed)
    members[name] = buffer.getvalue()
    if rng.random() < 0.2:
        members[name] = _claiming(rng, members[name])
    yield True, _put_together(schema, members, seal=rng.random() < 0.8)


def _claiming(rng, member):
    """Return an array whose header claims another shape or type than the bytes have."""
    shape = rng.choice(
        ["(1000000000000,)", "(0, 9223372036854775807)", "(-1,)", "(1,)*9", f"({'1,' * 40})", "()"]
    )
    descr = rng.choice(
        ["'<f8'", "'|O'", "'|V8'", "'<U999999999'", "'<U0'", "[('a', '<f8')]", "'<f8'", "'|O8'"]
    )
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return HEADER + text + member[128:]


def _fitted(rng, schema):
    """Return the attributes that were learned of some object, mostly of the first."""
    owners = [node["content"]["content"] for node in _nodes(schema) if node["__loader__"] == "ObjectNode"]
    owners = [owner for owner in owners if isinstance(owner, dict)]
    owner = owners[0] if rng.random() < 0.6 else rng.choice(owners)
    return {key: value for key, value in owner.items() if key.endswith("_")} or owner


def mix(rng, number, content):
    """Give an attribute of one model to another, with its members."""
    schema, members = _take_apart(content)
    other, others = _take_apart(base(rng.choice(sorted(BASES))).content)
    mine, theirs = (_fitted(rng, tree) for tree in (schema, other))
    key = rng.choice([key for key in mine if key in theirs] or list(theirs))
    given = deepcopy(theirs[key])
    for node in _nodes(given):
        node["__id__"] += 10**6
        if "file" in node:
            name = f"{node['__id__']}.npy"
            members[name] = others[node["file"]]
            node["file"] = name
    _replace(schema, mine.get(key), given)
    yield True, _put_together(schema, members)


KINDS = (
    *(
        "BytearrayNode",
        "BytesNode",
        "CachedNode",
        "ConstructorFromReduceNode",
        "DTypeNode",
        "DefaultDictNode",
    ),
    *(
        "DictNode",
        "FunctionNode",
        "JsonNode",
        "ListNode",
        "LossNode",
        "MaskedArrayNode",
        "MethodNode",
        "NdArrayNode",
    ),
    *(
        "ObjectNode",
        "OperatorFuncNode",
        "PartialNode",
        "QuantileForestNode",
        "RandomGeneratorNode",
        "RandomStateNode",
    ),
    *("ReduceNode", "SetNode", "SliceNode", "SparseMatrixNode", "TreeNode", "TupleNode", "TypeNode"),
)
TARGETS_AT_ONCE = 16
OTHERS = (
    *("joblib.load", "pickle.loads", "skops.io.load", "planted.code", "pandas.read_pickle", "numba.jit"),
    *("sklearn.datasets.fetch_openml", "sklearn.svm.SVC", "sklearn.tree.DecisionTreeClassifier"),
)


@cache
def targets():
    """Return (module, name) of all that a file may want called: ours, Python's, NumPy's, the system's."""
    found = []
    for module in pkgutil.walk_packages(localmkl.__path__, "localmkl."):
        with suppress(ModuleNotFoundError):  # of an extra that is not there
            found += [
                (module.name, name) for name, one in vars(import_module(module.name)).items() if callable(one)
            ]
    for module in (
        builtins,
        os,
        os.path,
        subprocess,
        shutil,
        np,
        np.lib.format,
        io,
        sys,
        tempfile,
        zipfile,
        struct,
    ):
        found += [(module.__name__, name) for name, one in sorted(vars(module).items()) if callable(one)]
    return found + [tuple(name.rsplit(".", 1)) for name in OTHERS]


def call(rng, number, content):
    """Let nodes of every kind name something to be called, in place of some attribute."""
    schema, members = _take_apart(content)
    keys = list(schema["content"]["content"])
    for offset in range(TARGETS_AT_ONCE):
        module, name = targets()[(number * TARGETS_AT_ONCE + offset) % len(targets())]
        kind, key = rng.choice(KINDS), rng.choice(keys)
        crafted = deepcopy(schema)
        crafted["content"]["content"][key] = _calling(rng, kind, module, name)
        yield True, _put_together(crafted, members)


def _calling(rng, kind, module, name):
    """Return a node that would call something with arguments that let it write, in every dialect of skops."""
    listed = {"__loader__": "ListNode", "__module__": "builtins", "__class__": "list", "content": []}
    empty = {"__loader__": "DictNode", "__module__": "builtins", "__class__": "dict", "content": {}}
    empty["key_types"] = listed
    given = [["written", "w"], ["touch written"], ["written", None, None], []]
    values = [empty if text is None else _value(text) for text in rng.choice(given)]
    arguments = {"__loader__": "TupleNode", "__module__": "builtins", "__class__": "tuple", "content": values}
    return {
        "__loader__": kind,
        "__module__": module,
        "__class__": name,
        "__id__": 10**7,
        "content": rng.choice([arguments, empty, values, {"func": arguments, "obj": arguments}]),
        "attrs": arguments,
        "type": "json",
        "shape": arguments,
        "key_types": listed,
        "__reduce__": {"args": arguments},
    }


def _saved(model):
    with tempfile.TemporaryDirectory() as folder:
        localmkl.save(model, Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


def bomb(rng, number, content):
    """Claim, or be, far more than the file has bytes for."""
    schema, members = _take_apart(content)
    name = sorted(name for name in members if name.endswith(".npy"))[0]
    which = number % 12
    if which == 0:
        members[name] = members[name][:128] + bytes(5 * 10**7)
        yield True, _put_together(schema, members, compression=zipfile.ZIP_DEFLATED)
    elif which == 1:
        members["999.npy"] = bytes(3 * 10**7)
        yield True, _put_together(schema, members, compression=zipfile.ZIP_BZIP2)
    elif which == 2:
        yield True, _sealed(b"[" * 10**6 + b"]" * 10**6)
    elif which == 3:
        yield True, _sealed(b"[" + b"[]," * 2 * 10**7 + b"0]")
    elif which == 4:
        yield True, _sealed(b'{"a":' * 10**5 + b"0" + b"}" * 10**5)
    elif which == 5:
        yield True, _sealed(b"[" + b"1.5," * 10**7 + b"0]")
    elif which == 6:
        yield True, _crowded(content)
    elif which == 7:
        yield True, _put_together(schema, {**members, name: _claiming(rng, members[name])})
    elif which == 8:
        yield True, _larger(content, rng)
    elif which == 9:
        _nodes(schema)[0]["content"]["content"]["C"] = _value("x" * 10**7)
        yield True, _put_together(schema, members)
    elif which == 10:
        node = schema
        for _ in range(300):
            node["content"] = {
                "__loader__": "ListNode",
                "__module__": "builtins",
                "__class__": "list",
                "content": [{}],
            }
            node = node["content"]["content"][0]
        yield True, _put_together(schema, members)
    else:
        for node in _nodes(schema):
            if "file" in node:
                node["file"], node["__id__"] = name, rng.randrange(10**9)
        yield True, _put_together(schema, members)


def _sealed(text):
    """Return a file with this text as its schema, and right checksums."""
    content = _put_together({}, {})
    manifest = {"members": {"schema.json": hashlib.sha256(text).hexdigest()}}
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("schema.json", text)
        archive.writestr("localmkl.json", json.dumps(json.loads(source.read("localmkl.json")) | manifest))
    return buffer.getvalue()


def _larger(content, rng):
    """Return the file with sizes in its list of members that it does not have."""
    start = content.index(b"PK\x01\x02")
    size = rng.choice([len(content), 2**31, 2**32 - 2])
    return content[: start + 20] + struct.pack("<LL", size, size) + content[start + 28 :]


def _crowded(content):
    """Return the file with a list of half a million members."""
    end = content.index(b"PK\x05\x06")
    start = content.index(b"PK\x01\x02")
    record = content[start : start + 28] + struct.pack("<H", 10) + content[start + 30 : start + 46]
    many = b"".join(record + b"%06d.npy" % number for number in range(500_000))
    listing = content[start:end] + many
    return (
        content[:start]
        + listing
        + content[end : end + 12]
        + struct.pack("<L", len(listing))
        + content[end + 16 :]
    )


def version(rng, number, content):
    """Say that another version wrote it, or that none did."""
    schema, members = _take_apart(content)
    strange = [0, 2, 99, -1, "1", "x", None, [], 1.5, 10**30, True]
    entry = rng.choice(["format", "localmkl", "members", "protocol", "_skops_version", "none", "none"])
    if entry == "none":
        yield False, _put_together(schema, members, seal=False)
    elif entry in ("protocol", "_skops_version"):
        schema[entry] = rng.choice(strange)
        yield True, _put_together(schema, members)
    else:
        yield True, _put_together(schema, members, manifest={entry: rng.choice(strange)})


MUTATIONS = [
    flip,
    cut,
    swap_members,
    edit_schema,
    edit_array,
    call,
    bomb,
    version,
    edit_attribute,
    mix,
    edit_schema,
]
