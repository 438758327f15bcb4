"""Rows in, tables out: means with standard errors, ranks over sets, paired differences, times.

The baseline of a repetition is the one of scikit-learn's models with the best inner score: what a careful
person would have taken, and it takes the time of all of them.
"""

from collections import defaultdict

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

from benchmarks.quality.answers import SHOWN
from benchmarks.quality.cells import key
from benchmarks.quality.methods import BASELINE, GROUPS, METHODS

LEVEL = 0.95
BEST = "baseline"
BETTER_DEFAULT = "the better of UNIF and MKL"
COMPARED = (
    ("fit", BEST),
    ("tune", "MKL tuned"),
    ("tune", "UNIF tuned"),
    ("tune", BEST),
    ("CLMKL", BETTER_DEFAULT),
    ("groups", "MKL tuned"),
    ("groups", "separate"),
)


def summarise(rows):
    """Return the tables as Markdown."""
    last = {key(row): row for row in rows}.values()
    rows, failed = [row for row in last if "error" not in row], [row for row in last if "error" in row]
    if not rows:
        return "No results yet: `python -m benchmarks.quality` makes them.\n"
    scores, times = _collect(rows)
    parts = [
        ("", _verdicts(scores)),
        ("Mean score on test rows, in percent", _score_table(rows, scores, _others(scores))),
        ("The models that the baseline is chosen from", _score_table(rows, scores, _models(scores))),
        ("Mean rank over the sets", _rank_table(scores)),
        ("Differences in points, with 95 % intervals over repetitions", _difference_table(scores)),
        ("Seconds from files or rows to test scores, mean over repetitions", _time_table(times)),
        ("", _origin(rows)),
        *(("", _failure(row)) for row in failed),
    ]
    return "\n\n".join(f"**{title}**\n\n{text}" if title else text for title, text in parts) + "\n"


def _collect(rows):
    """Return {set: {method: {repetition: percent}}} and the same of seconds, with the baseline."""
    scores, times = (defaultdict(lambda: defaultdict(dict)) for _ in range(2))
    tried = defaultdict(list)
    for row in rows:
        place = row["set"], row["method"], row["repetition"]
        _put(scores, *place, 100.0 * row["score"])
        _put(times, *place, row["seconds"])
        if METHODS[row["method"]].part == BASELINE:
            tried[row["set"], row["repetition"]].append(row)
    for (name, repetition), models in tried.items():
        best = max(models, key=lambda row: row["inner"])
        _put(scores, name, BEST, repetition, 100.0 * best["score"])
        _put(times, name, BEST, repetition, sum(row["seconds"] for row in models))
    return scores, times


def _put(table, name, method, repetition, value):
    table[name][method][repetition] = value


def _others(scores):
    """Return the methods of a table in their order, the models of the baseline as one."""
    found = {method for methods in scores.values() for method in methods}
    order = [name for name, method in METHODS.items() if method.part != BASELINE]
    return [name for name in (*order, BEST) if name in found]


def _models(scores):
    found = {method for methods in scores.values() for method in methods}
    return [name for name, method in METHODS.items() if method.part == BASELINE and name in found]


def _score_table(rows, scores, methods):
    about = {row["set"]: row for row in rows}
    body = []
    for name, found in scores.items():
        row = about[name]
        cells = [_mean(found[method]) if method in found else "" for method in methods]
        body.append([name, SHOWN[row["metric"]], f"{row['n_train']} / {row['n_test']}", *cells])
    return _markdown(["set", "score", "rows: training / test", *methods], body)


def _mean(values):
    values = np.array(list(values.values()))
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.1f}" + (f" ± {error:.1f}" if np.isfinite(error) else "")


def _ranks(scores):
    """Return {method: its ranks on the sets} of the methods that all sets have."""
    common = [
        method
        for method in _others(scores)
        if all(method in found for found in scores.values())
        and (method == BEST or METHODS[method].part != GROUPS)
    ]
    means = [[-np.mean(list(found[method].values())) for method in common] for found in scores.values()]
    return dict(zip(common, rankdata(means, axis=1).T, strict=True))


def _rank_table(scores):
    ranks = sorted(_ranks(scores).items(), key=lambda item: item[1].mean())
    body = [[method, f"{own.mean():.2f}", str(np.sum(own == 1.0))] for method, own in ranks]
    return _markdown(["method", "mean rank", f"first, of {len(scores)} sets"], body)


def _differences(scores, ours, theirs):
    """Return {set: differences over repetitions} where both methods have rows."""
    found = {}
    for name, methods in scores.items():
        other = _better_default(methods) if theirs == BETTER_DEFAULT else theirs
        shared = sorted(methods.get(ours, {}).keys() & methods.get(other, {}).keys())
        if shared:
            found[name] = [methods[ours][k] - methods[other][k] for k in shared]
    return found


def _better_default(methods):
    return max(("UNIF", "MKL"), key=lambda name: np.mean(list(methods.get(name, {}).values()) or [-np.inf]))


def _difference_table(scores):
    columns = {pair: _differences(scores, *pair) for pair in COMPARED}
    columns = {pair: found for pair, found in columns.items() if found}
    body = [
        [name, *(_interval(found[name]) if name in found else "" for found in columns.values())]
        for name in scores
    ]
    means = ([np.mean(values) for values in found.values()] for found in columns.values())
    body.append(["mean over sets", *map(_interval, means)])
    return _markdown(["set", *(f"{ours} − {theirs}" for ours, theirs in columns)], body)


def _verdicts(scores):
    """Return sentences: does the command line keep up, are searches and defaults safe."""
    ranks = _ranks(scores)
    lines = [f"- {name}: mean rank {ranks[name].mean():.2f}" for name in ("fit", BEST) if name in ranks]
    for theirs in ("MKL tuned", "UNIF tuned"):
        found = _differences(scores, "tune", theirs).items()
        worse = [name for name, values in found if np.mean(values) + _half_width(values) < 0.0]
        lines.append(f"- tune is worse than {theirs} beyond chance on: {', '.join(worse) or 'no set'}")
    found = _differences(scores, "CLMKL", BETTER_DEFAULT).items()
    worse = [f"{name} ({np.mean(values):+.1f})" for name, values in found if np.mean(values) < -1.0]
    lines.append(f"- CLMKL is more than a point below {BETTER_DEFAULT} on: {', '.join(worse) or 'no set'}")
    return "\n".join(lines)


def _half_width(values):
    """Return half the width of the interval of a mean; of one value it is not known."""
    if len(values) < 2:
        return np.inf
    return student.ppf((1 + LEVEL) / 2, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))


def _interval(values):
    """Return the mean with half the width of its interval, bold where that does not hold zero."""
    mean, width = np.mean(values), _half_width(values)
    text = f"{mean:+.1f}" + (f" ± {width:.1f}" if np.isfinite(width) else "")
    return f"**{text}**" if abs(mean) > width else text


def _time_table(times):
    methods = [*_others(times), *_models(times)]
    body = [
        [name, *(f"{np.mean(list(found[m].values())):.1f}" if m in found else "" for m in methods)]
        for name, found in times.items()
    ]
    total = [sum(sum(found[m].values()) for found in times.values() if m in found) / 60 for m in methods]
    body.append(["all, minutes", *(f"{value:.1f}" for value in total)])
    return _markdown(["set", *methods], body)


def _origin(rows):
    commits = sorted({str(row["commit"]) for row in rows})
    dates = sorted(row["date"][:10] for row in rows)
    repetitions = 1 + max(row["repetition"] for row in rows)
    return (
        f"Repetitions: {repetitions}; commit {', '.join(commits)}; {rows[-1]['cpu']}, {rows[-1]['cores']} "
        f"cores; {dates[0]} to {dates[-1]}."
    )


def _failure(row):
    first = " ".join(row["error"].split())[:200]
    return f"Failed: {row['method']} on {row['set']}, repetition {row['repetition']}: {first}"


def _markdown(header, body):
    lines = [header, ["---"] * len(header), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
