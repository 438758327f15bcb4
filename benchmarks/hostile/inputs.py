"""Files and options as nobody should have them, thrown at the command line.

A trial makes a small file of some kind (table, sequences, Grams), damages it (bytes, lines, fields, encoding,
compression, what stands at its place), draws a command with options, some of them absurd, and looks at what
comes out. Defects: a traceback or "please report", an error that is not one sentence or names Python's
arguments, a result that is not finite after exit code 0, an input that was changed, a file that was not asked
for.
"""

import bz2
import csv
import gzip
import hashlib
import io
import json
import lzma
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace

import numpy as np

TRIALS = 500
SHORT = 12
LIMIT = 10.0

ROWS = 24
PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ABSURD = [
    "nan",
    "inf",
    "-1",
    "0",
    "1e400",
    "-1e-400",
    "",
    " ",
    "٣",
    "²",
    "x" * 3000,
    "1_0",
    "0x10",
    "1/0",
    "1-9999999",
    "'",
    "1e308",
]
FIELDS = [
    "",
    "NA",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "9" * 40,
    "1_0",
    "01",
    "0x1F",
    '"',
    "'",
    "\0",
    "é",
    "٣",
    "True",
    " ",
    "=1+1",
    ";",
    "-0",
    "1e-320",
]
FILES_AND_WORDS = [
    "--rows",
    "--names",
    "--labels",
    "--variable",
    "--positive-class",
    "--categories",
]
NUMBERS = ["--C", "--p", "--clusters", "--evenness", "--tol", "--seed", "--gate"]
KERNELS = [
    "rbf",
    "rbf:1-3",
    "linear; rbf",
    "wd:1-5",
    "spectrum:2",
    "rbf:0",
    "wd:0",
    "wd:99999",
    "poly:50",
    "chi2",
    "intersection",
    "rbf gamma=0",
    "rbf gamma=1e308",
    "rbf:1e-320",
    "gapped:4",
    "mismatch:3",
    "residues",
    "pseaac:3",
    "profile",
    "wd:2 column=seq",
    "rbf columns=*",
    "linear each=a,b",
    "rbf:",
    ":",
    ";;",
    "rbf rbf",
    "rbf columns=",
    "k.toml",
    "spectrum:40",
    "linear standardize=5",
    "poly:2 coef0=-1",
    "rbf factor=abc",
]
PYTHON = re.compile(
    r"`\w+=(?!\.)|`unique_names|`n_clusters|`max_iter|`gate_kernel|`class_weight|Traceback|object at 0x"
)


def trial(seed):
    """Return what came of one command on damaged files."""
    draw = np.random.default_rng(seed)
    folder = Path(tempfile.mkdtemp(prefix="hostile_inputs_"))
    try:
        with chdir(folder):
            return _try(draw, folder)
    finally:
        for path in folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)


def _try(draw, folder):
    kind = _pick(draw, ["table", "table", "table", "fasta", "fasta", "grams"])
    whole, options = MAKERS[kind](draw)
    name, content = next(iter(whole.items()))
    for other, text in whole.items():
        Path(other).write_bytes(text)
    name = _damage(draw, name, content)
    command = _pick(draw, ["info", "fit", "fit", "fit", "both", "tune", "predict", "predict"])
    if command == "predict":
        said = _run("fit", next(iter(whole)), *options, "--out", "m.localmkl", "-q", "--method", "unif")
        if said.exit_code != 0:
            return {
                "verdict": "unfit",
                "defect": f"the whole file cannot be fitted: {said.stderr}",
                "command": options,
            }
    elif "l.txt" in whole and draw.random() < 0.3:
        Path("l.txt").write_bytes(_pick(draw, MUTATIONS)(draw, whole["l.txt"]))
    before = _hashes(folder)
    line = _command(draw, command, name, options)
    said = _run_apart(*line) if command == "info" and draw.random() < 0.1 else _run(*line)
    verdict = "done" if said.exit_code == 0 else "refused"
    return {
        "verdict": verdict,
        "defect": _defect(said, before, folder),
        "command": [str(word)[:200] for word in line],
        "said": said.stderr[-300:],
    }


def _command(draw, command, name, options):
    """Return a command line, some of its options absurd."""
    if command == "predict":
        return [command, "m.localmkl", name, *(["--out", "p.csv"] if draw.random() < 0.5 else ["--json"])]
    if command == "both":
        files = ["--positive", name, "--negative", _pick(draw, ["s.fa", "t.csv", name])]
        return ["fit", *files, "--method", "unif"]
    if command == "info":
        return [command, name, *options[:2]]
    method = _pick(draw, ["clmkl", "clmkl", "mkl", "unif", "hlmkl"])
    line = [command, name, *options, "--method", method]
    if draw.random() < 0.3:
        line += [_pick(draw, NUMBERS), _pick(draw, [*ABSURD, "1", "2", "0.5"])]
    if draw.random() < 0.3:
        line += ["--kernels", _pick(draw, KERNELS)]
    if draw.random() < 0.1:
        line += [_pick(draw, FILES_AND_WORDS), _pick(draw, [*ABSURD, name])]
    if draw.random() < 0.2:
        line += [_pick(draw, ["--regression", "--balanced", "--no-header", "--header"])]
    if command == "tune":
        line += ["--C", "0.1,1", "--folds", "2"]
        line += ["--p", "1", "--evenness", "0.5,1"] if method == "clmkl" else []
    return line


def _run(*line):
    from typer.testing import CliRunner

    from localmkl.cli import app

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        return CliRunner().invoke(app, [str(word) for word in line])


def _run_apart(*line):
    """Return the answer of a command in a process of its own, as `_run` has it."""
    program = [sys.executable, "-c", "from localmkl.cli import main; main()"]
    done = subprocess.run([*program, *line], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return SimpleNamespace(exit_code=done.returncode, exception=None, stdout=done.stdout, stderr=done.stderr)


def _defect(said, before, folder):
    """Return what is wrong with an answer, or None."""
    if said.exception is not None and not isinstance(said.exception, SystemExit):
        return f"{type(said.exception).__name__}: {said.exception}"
    if said.exit_code not in (0, 1, 2):
        return f"exit code {said.exit_code}"
    if "report it" in said.stderr or PYTHON.search(said.stderr):
        return f"not in the words of the command line: {said.stderr[-400:]}"
    after = _hashes(folder)
    changed = [name for name in before if after.get(name) != before[name]]
    if changed:
        return f"changed: {changed}"
    new = set(after) - set(before)
    if said.exit_code == 0:
        return _not_finite(said, folder) or (
            f"wrote {sorted(new)}" if new - {"model.localmkl", "p.csv"} else None
        )
    if new - {"model.localmkl.checkpoint"}:
        return f"failed, but wrote {sorted(new)}"
    errors = [line for line in said.stderr.splitlines() if line.startswith("Error: ")]
    if said.exit_code == 1 and (len(errors) != 1 or not errors[0].endswith((".", "?"))):
        return f"not one sentence: {said.stderr[-400:]}"
    return None


def _not_finite(said, folder):
    """Return a prediction that is no finite number, in words, or None."""
    if (folder / "p.csv").exists():
        table = list(csv.reader(io.StringIO((folder / "p.csv").read_text())))
        numbers = [field for row in table[1:] for field in row[2:]]
    elif said.stdout.startswith("[{"):
        numbers = [value for row in json.loads(said.stdout) for value in list(row.values())[2:]]
    else:
        return None
    wrong = [value for value in numbers if not math.isfinite(float(value))]
    return f"predicted {wrong[0]}" if wrong else None


def _hashes(folder):
    """Return what every file holds; pipes, devices and folders by their kind alone."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file() and not path.is_symlink()
        else "other"
        for path in folder.iterdir()
    }


def _pick(draw, values):
    return values[int(draw.integers(len(values)))]


def _table(draw):
    ending, separator = _pick(draw, [(".csv", ","), (".csv", ","), (".tsv", "\t"), (".parquet", None)])
    values = draw.normal(size=(ROWS, 3)).round(4)
    labels = _pick(draw, [("1", "-1"), ("sick", "well"), ("0", "1"), ("01", "1"), ("1.0", "2.0")])
    frame = {
        "id": [str(k) for k in range(ROWS)],
        **{name: [str(v) for v in values[:, k]] for k, name in enumerate("abc")},
        "seq": ["".join(draw.choice(list("ACGT"), 8)) for _ in range(ROWS)],
        "state": [labels[int(v)] for v in (values[:, 0] > np.median(values[:, 0]))],
    }
    options = ["--target", "state", *(["--names", "id"] if draw.random() < 0.3 else [])]
    if separator is None:
        import pandas as pd

        table = pd.DataFrame(frame).astype({"a": float, "b": float, "c": float, "id": int})
        content = io.BytesIO()
        table.to_parquet(content)
        return {"t.parquet": content.getvalue()}, options
    lines = [separator.join(frame), *(separator.join(row) for row in zip(*frame.values(), strict=True))]
    return {f"t{ending}": ("\n".join(lines) + "\n").encode()}, options


def _fasta(draw):
    equal, alphabet = draw.random() < 0.5, _pick(draw, ["ACGT", "ACGT", "ACGU", "ACDEFGHIKLMNPQRSTVWY"])
    records = []
    for k in range(ROWS):
        letters = "".join(draw.choice(list(alphabet), 12 if equal else int(draw.integers(6, 15))))
        records.append(f">r{k} label={'AB'[k % 2]}\n{letters}\n")
    return {"s.fa": "".join(records).encode()}, []


def _grams(draw):
    X = draw.normal(size=(2, ROWS, 3))
    stack, y = X @ X.transpose(0, 2, 1), np.where(X[0, :, 0] > 0, 1, -1)
    content = io.BytesIO()
    ending = _pick(draw, [".npz", ".npy", ".mat"])
    if ending == ".npz":
        np.savez(content, K=stack, y=y)
    elif ending == ".mat":
        from scipy.io import savemat

        cells = np.empty(2, dtype=object)
        cells[:] = list(stack)
        savemat(content, {"K": cells if draw.random() < 0.5 else np.moveaxis(stack, 0, 2), "y": y})
    else:
        np.save(content, stack)
        lines = "\n".join(map(str, y.tolist())).encode()
        return {"g.npy": content.getvalue(), "l.txt": lines}, ["--labels", "l.txt"]
    return {f"g{ending}": content.getvalue()}, ["--target", "y"]


MAKERS = {"table": _table, "fasta": _fasta, "grams": _grams}


def _damage(draw, name, content):
    """Write a damaged file; return its name."""
    suffix, damage = Path(name).suffix, draw.random()
    if damage < 0.08:
        return _in_its_place(draw, f"odd{suffix}", content)
    for _ in range(int(draw.integers(0, 4))):
        content = _pick(draw, MUTATIONS)(draw, content)
    if suffix not in (".npz", ".npy", ".mat", ".parquet") and draw.random() < 0.15:
        packing = _pick(draw, list(PACKED))
        packed = PACKED[packing](content)
        if draw.random() < 0.6:
            packed = _pick(draw, [_flip, _cut, _insert])(draw, packed)
        content, suffix = packed, suffix + packing
    elif draw.random() < 0.05:
        suffix = _pick(
            draw,
            [".csv", ".fa", ".npz", ".npy", ".mat", ".parquet", ".tsv", ".xls", "", ".localmkl", ".csv.zip"],
        )
    Path(f"odd{suffix}").write_bytes(content)
    Path("k.toml").write_bytes(
        _pick(
            draw,
            [
                b'[[kernel]]\nname = "rbf"\n',
                b"[[kernel]]\nname = 5\n",
                b"\xff",
                b"[" * 2000,
                b'[[kernel]]\nname = "rbf"\ncolumns = 5\n',
                b'[[kernel]]\nname = "rbf"\nfactor = [[1]]\n',
                b'[[kernel]]\nname = "rbf"\nfactor = {a = 1}\n',
            ],
        )
    )
    return f"odd{suffix}"


def _in_its_place(draw, name, content):
    path = Path(name)
    what = _pick(draw, ["folder", "pipe", "loop", "nowhere", "zero", "full", "empty", "absent"])
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "empty":
        path.write_bytes(b"")
    elif what != "absent":
        path.symlink_to(
            {"loop": name, "nowhere": "not_there", "zero": "/dev/zero", "full": "/dev/full"}[what]
        )
    return name


def _flip(draw, content):
    changed = bytearray(content)
    for place in draw.integers(0, max(len(changed), 1), size=int(draw.integers(1, 6))) if changed else ():
        changed[int(place)] = int(draw.integers(256))
    return bytes(changed)


def _cut(draw, content):
    return content[: int(draw.integers(0, len(content) + 1))]


def _insert(draw, content):
    place = int(draw.integers(0, len(content) + 1))
    return (
        content[:place]
        + bytes(draw.integers(0, 256, size=int(draw.integers(1, 9)), dtype=np.uint8))
        + content[place:]
    )


def _lines(draw, content):
    lines = content.split(b"\n")
    place = int(draw.integers(len(lines)))
    what = draw.random()
    if what < 0.25:
        del lines[place]
    elif what < 0.5:
        lines.insert(place, lines[int(draw.integers(len(lines)))])
    elif what < 0.6:
        lines.insert(place, b"")
    elif what < 0.8:
        lines = (
            [lines[0], *(line + b",9" for line in lines[1:] if line)] if draw.random() < 0.5 else lines[1:]
        )
    else:
        lines[place] = lines[place] * int(draw.integers(0, 50))
    return b"\n".join(lines)


def _field(draw, content):
    lines = content.split(b"\n")
    place = int(draw.integers(len(lines)))
    separator = b"\t" if b"\t" in lines[place] else b","
    fields = lines[place].split(separator)
    fields[int(draw.integers(len(fields)))] = _pick(draw, FIELDS).encode()
    lines[place] = separator.join(fields)
    return b"\n".join(lines)


def _column(draw, content):
    """Put one odd value into a column of every row."""
    lines, odd = content.split(b"\n"), _pick(draw, FIELDS).encode()
    separator = b"\t" if b"\t" in lines[0] else b","
    place = int(draw.integers(lines[0].count(separator) + 1))
    for number, line in enumerate(lines[1:-1], start=1):
        fields = line.split(separator)
        if place < len(fields) and draw.random() < 0.5:
            fields[place] = odd
        lines[number] = separator.join(fields)
    return b"\n".join(lines)


def _encode(draw, content):
    what = _pick(draw, ["utf-16", "latin-1", "bom", "\r", "\r\n", "semicolons", "upper"])
    if what == "bom":
        return b"\xef\xbb\xbf" + content
    if what in ("\r", "\r\n"):
        return content.replace(b"\n", what.encode())
    if what == "semicolons":
        return content.replace(b",", b";")
    return content.swapcase() if what == "upper" else (content.decode("latin-1") + "é").encode(what)


def _letters(draw, content):
    return content.replace(
        b"A",
        _pick(draw, [b"-", b"*", b"N", b"a", b"X", b" ", b">", b"\x0b", b"", b"J"]),
        int(draw.integers(1, 30)),
    )


MUTATIONS = [
    _flip,
    _cut,
    _insert,
    _lines,
    _lines,
    _field,
    _field,
    _field,
    _column,
    _column,
    _encode,
    _letters,
]


def _warm_up():
    """Import and compile what commands need: a limit of seconds is for what a file makes of them."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        whole, options = _table(np.random.default_rng(0))
        Path(next(iter(whole))).write_bytes(next(iter(whole.values())))
        _run("fit", next(iter(whole)), *options, "-q")


_warm_up()
