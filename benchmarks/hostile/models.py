"""Mutated model files: by accident, and by somebody who seals them anew.

A defect is a file whose loading writes, runs or connects to anything, takes more than 1 GB of memory, or
ends in anything but one sentence; and, where the checksum was not computed anew, one that loads. Who computes
it anew can write another model: one that predicts something else is counted as "another", one that fails
when it predicts as "later"; neither may act.
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
from math import prod
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

TRIALS, SHORT, LIMIT = 1000, 10, 60.0  # the first trial of a process also makes the models
MEMORY = 2**30
COMMAND_LINE_EVERY = 4
"""Every so many trials the file also goes through the command line."""

SHOWN = 400
"""Letters of a defect that are kept."""


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
            defect = _defect_by_command(Path(folder), base(name), content, sealed)
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
            try:
                got = base.answer(model)
            except Exception as error:
                if not sealed:
                    raise
                got = error
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    if seen or os.listdir(watched):
        return "acted", f"{seen or os.listdir(watched)}"
    if isinstance(got, Exception):
        return "later", None
    if np.array_equal(got, base.expected):
        return "equal", None
    return ("another", None) if sealed else ("different", "other answers")


def _judged(verdict, text, seen, watched):
    if seen or os.listdir(watched):
        return "acted", f"{seen or os.listdir(watched)}"
    if "\n" in text or len(text) > 1000 or not text.endswith("."):
        return "unclear", f"not one sentence: {text!r}"
    return verdict, None


def _defect_by_command(folder, base, content, sealed):
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
        wrong = wrong or (result.exit_code == 1 and told.count("Error: ") != 1)
        if wrong and not sealed:
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
        self.content = _saved(model)
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
    """Return the tree and the numbers of all arrays."""
    _, second, rest = content.split(b"\n", 2)
    length = int(second.split()[1])
    return json.loads(rest[:length]), rest[length:]


def _put_together(tree, numbers, **changes):
    """Return the file, sealed: with the right checksum."""
    return _sealed(json.dumps(tree).encode(), numbers, **changes)


def _sealed(text, numbers=b"", version=1, author=localmkl.__version__, length=None):
    first = f"localmkl model, format {version}, written by localmkl {author}\n"
    second = f"{hashlib.sha256(text + numbers).hexdigest()} {len(text) if length is None else length}\n"
    return first.encode() + second.encode() + text + numbers


def _nodes(tree):
    """Return all nodes of a tree, in order."""
    if isinstance(tree, dict):
        own = [tree] if "kind" in tree else []
        return own + [node for value in tree.values() for node in _nodes(value)]
    return [node for value in tree for node in _nodes(value)] if isinstance(tree, list) else []


def _places(tree, path=()):
    """Return the path of everything in a tree."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, value in pairs for place in _places(value, (*path, key)))]


def _at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def _attributes(tree):
    """Return the attributes of all objects, each a list of pairs."""
    return [node["state"]["pairs"] for node in _nodes(tree) if node["kind"] == "object" and node["state"]]


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


WEIRD = [
    *(None, True, -1, 0, 1, 7, 10**6, 2**31, 2**63, 10**30, 1.5, -1e308, float("nan"), float("inf")),
    *("", "x", "null", "-1", "NaN", "1e400", "10000000000", '"text"', "[]", "{}", "true", "os", "\u0000"),
    *([], {}, [[]], {"kind": "same", "number": 0}, {"kind": "dict"}, ["kind"]),
]


def edit_tree(rng, number, content):
    """Change something in the tree: remove, replace, exchange, repeat."""
    tree, numbers = _take_apart(content)
    places = [place for place in _places(tree) if place]
    for _ in range(rng.choice([1, 1, 2])):
        *way, last = rng.choice(places)
        try:
            parent = _at(tree, way)
            change = rng.choice(["remove", "replace", "replace", "exchange"])
            if change == "remove":
                del parent[last]
            elif change == "replace":
                parent[last] = deepcopy(rng.choice(WEIRD))
            else:
                parent[last] = deepcopy(_at(tree, rng.choice(places)))
        except (KeyError, IndexError, TypeError):
            continue  # the first change took the place of the second
    yield True, _put_together(tree, numbers)


def edit_attribute(rng, number, content):
    """Remove an attribute of some object, add one, or replace it by another object's or a strange value."""
    tree, numbers = _take_apart(content)
    pairs, other = rng.choice(_attributes(tree)), rng.choice(_attributes(tree))
    place = rng.randrange(len(pairs))
    change = rng.choice(["remove", "value", "value", "other", "add"])
    if change == "remove":
        del pairs[place]
    elif change == "value":
        pairs[place][1] = rng.choice(WEIRD[:27])
    elif change == "other":
        pairs[place][1] = deepcopy(rng.choice(other)[1])
    else:
        name = rng.choice(
            ["predict", "__class__", "_decide", "_repr_html_", "extra", "_check_rows", "__dict__"]
        )
        pairs.append([name, deepcopy(rng.choice(other)[1])])
    yield True, _put_together(tree, numbers)


def edit_array(rng, number, content):
    """Change the numbers, the type or the shape of an array."""
    tree, numbers = _take_apart(content)
    arrays = [node for node in _nodes(tree) if node["kind"] == "array"]
    node, change = rng.choice(arrays), rng.choice(["numbers", "numbers", "shape", "dtype", "claim", "turned"])
    if change == "numbers":
        numbers = bytearray(numbers)
        strange = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, -1.0, 0.0]
        start = 8 * rng.randrange(len(numbers) // 8)
        numbers[start : start + 8] = struct.pack("<d", rng.choice(strange))
    elif change == "shape":
        node["shape"] = rng.choice(
            [
                [*node["shape"], 1],
                node["shape"][::-1],
                [prod(node["shape"])],
                [0],
                [],
                [-1],
                None,
                ["1"],
                [1.5],
            ]
        )
    elif change == "dtype":
        node["dtype"] = rng.choice(["<f4", "<i8", "<U2", "<c16", "|S8", "|b1", "<M8[s]", ">f8", "<f16"])
    elif change == "claim":
        node["shape"] = rng.choice([[10**12], [0, 2**63 - 1], [2**63], [1] * 70, [10**30]])
        node["dtype"] = rng.choice(
            ["<f8", "|O", "|V8", "<U999999999", "<U0", "[('a', '<f8')]", "|O8", 5, None]
        )
    else:
        node["turned"] = not node["turned"]
    yield True, _put_together(tree, bytes(numbers))


def mix(rng, number, content):
    """Give an attribute of one model to another, without its numbers."""
    tree, numbers = _take_apart(content)
    other, _ = _take_apart(base(rng.choice(sorted(BASES))).content)
    mine, theirs = _attributes(tree)[-1], dict(map(tuple, _attributes(other)[-1]))
    for pair in rng.sample(mine, min(2, len(mine))):
        if pair[0] in theirs:
            pair[1] = theirs[pair[0]]
    yield True, _put_together(tree, numbers)


KINDS = (
    *("object", "object", "function", "type", "dtype", "same", "number", "bytes", "random_state", "masked"),
    *("objects", "slice", "reduce", "method", "partial", "ConstructorFromReduceNode", "OperatorFuncNode"),
)
TARGETS_AT_ONCE = 16
OTHERS = (
    *("joblib.load", "pickle.loads", "planted.code", "pandas.read_pickle", "numba.jit"),
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
    tree, numbers = _take_apart(content)
    for offset in range(TARGETS_AT_ONCE):
        module, name = targets()[(number * TARGETS_AT_ONCE + offset) % len(targets())]
        crafted = deepcopy(tree)
        given = rng.choice([["written", "w"], ["touch written"], ["written", None, None], []])
        rng.choice(crafted["model"]["state"]["pairs"])[1] = {
            "kind": rng.choice(KINDS),
            "class": f"{module}.{name}",
            "name": f"{module}.{name}",
            "state": rng.choice([None, given, {"kind": "dict", "pairs": [["args", given]]}]),
            "items": given,
            "args": given,
        }
        yield True, _put_together(crafted, numbers)


def _saved(model):
    with tempfile.TemporaryDirectory() as folder:
        localmkl.save(model, Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


def bomb(rng, number, content):
    """Claim, or be, far more than the file has bytes for."""
    tree, numbers = _take_apart(content)
    which = number % 9
    if which == 0:
        yield True, _sealed(b"[" * 10**6 + b"]" * 10**6)
    elif which == 1:
        yield True, _sealed(b"[" + b"[]," * 2 * 10**7 + b"0]")
    elif which == 2:
        yield True, _sealed(b'{"a":' * 10**5 + b"0" + b"}" * 10**5)
    elif which == 3:
        yield True, _sealed(b"[" + b"1.5," * 10**7 + b"0]")
    elif which == 4:
        yield True, _sealed(b'{"model": ' + b"1" * 10**7 + b"}")
    elif which == 5:
        tree["model"]["state"]["pairs"][0][1] = "x" * 10**7
        yield True, _put_together(tree, numbers)
    elif which == 6:
        node = tree["model"]
        for _ in range(300):
            node["state"] = {"kind": "tuple", "items": [{"kind": "tuple", "items": []}]}
            node = node["state"]["items"][0]
        yield True, _put_together(tree, numbers)
    elif which == 7:
        node = next(node for node in _nodes(tree) if node["kind"] == "array")
        tree["model"]["state"]["pairs"][0][1] = [node] * 10**5
        yield True, _put_together(tree, numbers)
    else:
        yield True, _put_together(tree, numbers, length=rng.choice([0, 10, 10**9, 10**17]))


def version(rng, number, content):
    """Say that another version wrote it, or one of before the first release."""
    tree, numbers = _take_apart(content)
    strange = [0, 2, 99, -1, "1", "x", None, 1.5, 10**30, True, "1\n"]
    if number % 4 == 0:
        yield False, b"PK\x03\x04" + content[4:]
    elif number % 4 == 1:
        yield (
            True,
            _put_together(tree, numbers, author=rng.choice(["0.0.1", "x" * 300, "\x1b[2J", ""])),
        )
    else:
        yield True, _put_together(tree, numbers, version=rng.choice(strange))


MUTATIONS = [
    flip,
    cut,
    edit_tree,
    edit_array,
    call,
    bomb,
    version,
    edit_attribute,
    mix,
    edit_tree,
]
