"""Rows in, tables out: our numbers beside the published ones, as Markdown and CSV.

A mark compares with the experiment's reference method by a paired t-test over repetitions at the 95 % level:
a bullet (•) where the reference is significantly better, as in the paper, a circle (∘) where it is worse.
Where repetitions split the same rows anew, a mark is doubled if the test corrected for this agrees.
"""

import csv
import io
from collections import Counter, defaultdict
from dataclasses import dataclass, replace

import numpy as np

from localmkl.experiments.protocol import TOL
from localmkl.model_selection.t_test import corrected_t_test

BETTER, WORSE = "•", "∘"
LEVEL = 0.05
"""As in the paper."""

FEWEST = 5
"""Repetitions from which a test is asked."""


@dataclass(frozen=True)
class Cell:
    """One method at one point, over its repetitions: scores in percent (times in seconds)."""

    mean: float
    std: float
    n: int
    mark: str
    corrected: str
    """The mark of the test that is corrected for rows used again, where they are."""
    record: tuple[int, int, int]
    """Repetitions in which the method is better than, equal to, worse than the reference."""


def finished(rows):
    """Return the rows that hold a score, the last of each kind."""
    return list({row_key(row): row for row in rows if "error" not in row}.values())


def with_test_shares(rows, settings):
    """Return rows that split the same samples anew, with the share that corrects their tests.

    `test_share` is the number of rows scored for each training row. If a row does not say how many are
    scored, all that are not for training are where inner folds choose, and half of them elsewhere.

    Examples
    --------
    >>> rows = [{"n_train": 200, "score": 0.9}]
    >>> with_test_shares(rows, {"instances": 1000, "inner_folds": None})[0]["test_share"]
    2.0
    """
    return [row if "error" in row else {**row, "test_share": _test_share(row, settings)} for row in rows]


def _test_share(row, settings):
    others = settings["instances"] - row["n_train"]
    n_valid = 0 if settings["inner_folds"] else others // 2
    return row.get("n_test", others - n_valid) / row["n_train"]


KEY = ("method", "point", "repetition")
"""Names in every row, of a cell that failed too."""
SAID = ("gap", "seconds", "date", "version", "commit", "cpu", "cores", "system")
"""Names in every other row."""


def check_rows(path, rows):
    """Raise unless every row of a file says what summaries ask of it."""
    for number, row in enumerate(rows, start=2):
        lacking = [name for name in (KEY if "error" in row else KEY + SAID) if name not in row]
        if lacking:
            raise ValueError(
                f"{str(path)!r}, line {number}, must be a row of the experiment, it has no {lacking[0]!r}; "
                "remove that line."
            )


def row_key(row):
    """Return the key of a finished row, unique in its file."""
    return tuple(row[name] for name in KEY)


def tabulate(experiment, rows, score="score"):
    """Return {method: {point: Cell}} of a score in the experiment's order, of what is there."""
    scale = 1.0 if experiment.metric == "seconds" else 100.0
    scores: dict = defaultdict(dict)
    shares = _test_shares(rows)
    for row in finished(rows):
        if score in row:
            scores[row["method"], row["point"]][row["repetition"]] = scale * row[score]
    points = sorted({point for _, point in scores})
    table = {}
    for method in experiment.methods:
        cells = {
            point: _cell(
                experiment,
                scores[method.label, point],
                scores.get((experiment.reference, point), {}),
                shares.get(point),
            )
            for point in points
            if (method.label, point) in scores
        }
        if cells:
            table[method.label] = cells
    return table


def _test_shares(rows):
    """Return {point: share of rows scored}, where there is one."""
    shares = defaultdict(list)
    for row in finished(rows):
        if "test_share" in row:
            shares[row["point"]].append(row["test_share"])
    return {point: float(np.mean(found)) for point, found in shares.items()}


def _cell(experiment, own, reference, share):
    values = np.array(list(own.values()))
    shared = sorted(own.keys() & reference.keys())
    ours, theirs = (np.array([scores[k] for k in shared]) for scores in (own, reference))
    record = int(np.sum(ours > theirs)), int(np.sum(ours == theirs)), int(np.sum(ours < theirs))
    std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    marks = ("", "") if experiment.metric == "seconds" else _marks(ours, theirs, share)
    return Cell(float(values.mean()), std, len(values), marks[0], marks[1], record)


def _marks(ours, theirs, share):
    """Return the verdicts of the paired t-test on the reference (`theirs`), plain and corrected.

    Without a share of rows that are scored again and again there is no corrected one. Where neither score
    ever varies, repetitions are copies of one, and nothing is marked.
    """
    if len(ours) < FEWEST or np.all(ours == theirs) or np.ptp(ours) == np.ptp(theirs) == 0.0:
        return "", ""
    sign, mark = (1.0, BETTER) if theirs.mean() > ours.mean() else (-1.0, WORSE)

    def verdict(share):
        two_sided = 2.0 * corrected_t_test(sign * (theirs - ours), share)[3]
        return mark if two_sided < LEVEL else ""

    return verdict(0.0), "" if share is None else verdict(share)


def to_markdown(experiment, source, rows):
    """Return the summary of an experiment on a data set: what, how, the table, the paper's beside it."""
    table = tabulate(experiment, rows)
    published = experiment.published
    lines = [
        f"# {experiment.title}",
        "",
        f"- Paper: {published.source}. {published.claim} {published.notes}".rstrip(),
        f"- Data: {source.what} ({source.fidelity}).",
        f"- Protocol: {experiment.protocol}",
        f"- {_repetitions(experiment, table)} {_legend(experiment, source, rows)}".rstrip(),
        f"- {_certificates(rows)}",
        "",
    ]
    if not table:
        return "\n".join([*lines, "No rows yet.", ""])
    several = len(experiment.points) > 1
    lines += _wide_table(experiment, table) if several else _long_table(experiment, table)
    for name, title in {**experiment.also, **experiment.costs}.items():
        table = tabulate(experiment, rows, name)
        marked = name in experiment.also
        lines += [
            "",
            f"{title[0].upper()}{title[1:]}, in percent:",
            "",
            *_plain_table(experiment, table, marked),
        ]
    lines += _differences(experiment, rows) if experiment.pairs else []
    return "\n".join([*lines, "", *_provenance(rows), ""])


def _wide_table(experiment, table):
    """Points are columns; two lines per method, ours and the paper's."""
    points = sorted({point for cells in table.values() for point in cells})
    published = experiment.published.numbers
    header = [experiment.axis, "", *map(str, points)]
    body = []
    for method in _methods(experiment, table):
        if method in table:
            body.append([method, "ours", *(_text(experiment, table[method].get(point)) for point in points)])
        if any(point in published.get(method, {}) for point in points):
            numbers = (published[method].get(point) for point in points)
            body.append(["" if method in table else method, "paper", *map(_published_text, numbers)])
    if experiment.metric != "seconds" and published:
        body += _advantages(experiment, table, points)
    return _align(header, body)


def _plain_table(experiment, table, marked):
    """Points are columns; ours alone, marked where it is a score."""
    points = sorted({point for cells in table.values() for point in cells})
    body = []
    for method, cells in table.items():
        if not marked:
            cells = {point: replace(cell, mark="", corrected="") for point, cell in cells.items()}
        body.append([method, *(_text(experiment, cells.get(point)) for point in points)])
    return _align([experiment.axis, *map(str, points)], body)


def _differences(experiment, rows):
    """Return a table of the differences between pairs of methods in the same repetitions."""
    points = sorted({row["point"] for row in finished(rows)})
    body = [
        [f"{one} - {other}", *(_difference_text(difference(rows, one, other, point)) for point in points)]
        for one, other in experiment.pairs
    ]
    title = f"Differences in {experiment.metric}, in points: mean and standard error over repetitions"
    doubled = ", doubled as above" if _test_shares(rows) else ""
    said = f"{BETTER}: the second is significantly better, {WORSE}: the first{doubled}."
    return ["", f"{title}. {said}", "", *_align([experiment.axis, *map(str, points)], body)]


def difference(rows, one, other, point):
    """Return mean, standard error and marks of a method's lead over another, in points; None without any.

    Examples
    --------
    >>> rows = [{"method": "a", "point": 0, "repetition": k, "score": 0.5 + k / 4} for k in (0, 1)]
    >>> rows += [{"method": "b", "point": 0, "repetition": k, "score": 0.25} for k in (0, 1)]
    >>> difference(rows, "a", "b", 0)
    (37.5, 12.5, '')
    """
    ours, theirs = paired_scores(rows, one, other, point)
    if not len(ours):
        return None
    error = np.std(ours - theirs, ddof=1) / np.sqrt(len(ours)) if len(ours) > 1 else 0.0
    marks = _marks(ours, theirs, _test_shares(rows).get(point))
    return float(np.mean(ours - theirs)), float(error), "".join(marks)


def paired_scores(rows, one, other, point):
    """Return the scores of two methods at a point in percent, of the repetitions that both have."""
    scores: dict = {one: {}, other: {}}
    for row in finished(rows):
        if row["method"] in scores and row["point"] == point:
            scores[row["method"]][row["repetition"]] = 100.0 * row["score"]
    shared = sorted(scores[one].keys() & scores[other].keys())
    return tuple(np.array([scores[label][k] for k in shared]) for label in (one, other))


def _difference_text(lead):
    return "-" if lead is None else f"{lead[0]:+.1f} ± {lead[1]:.1f}{lead[2]}"


def _long_table(experiment, table):
    """One point alone: methods are lines."""
    published = experiment.published.numbers
    header = ["method", "ours", "paper", f"better / equal / worse than {experiment.reference}"]
    body = []
    for method in _methods(experiment, table):
        cell = next(iter(table.get(method, {}).values()), None)
        number = next(iter(published.get(method, {}).values()), None)
        record = " / ".join(map(str, cell.record)) if cell and method != experiment.reference else ""
        body.append([method, _text(experiment, cell), _published_text(number), record])
    return _align(header, body)


def _methods(experiment, table):
    return [
        m.label for m in experiment.methods if m.label in table or m.label in experiment.published.numbers
    ]


def _advantages(experiment, table, points):
    """Return lines with the reference's lead over the best method of another kind, ours and the paper's."""
    kind = {m.label: (m.family, m.unlabelled) for m in experiment.methods if not m.alone}
    means = {"ours": {m: {p: c.mean for p, c in cells.items()} for m, cells in table.items()}}
    if any(point in cells for cells in experiment.published.numbers.values() for point in points):
        numbers = experiment.published.numbers.items()
        means["paper"] = {m: {p: number.mean for p, number in cells.items()} for m, cells in numbers}
    name, own_kind = f"{experiment.reference} - best other", kind[experiment.reference]
    lines: list[list[str]] = []
    for whose, values in means.items():
        leads = []
        for point in points:
            others = [
                cells[point]
                for method, cells in values.items()
                if kind.get(method, own_kind) != own_kind and point in cells
            ]
            own = values.get(experiment.reference, {}).get(point)
            leads.append(f"{own - max(others):+.1f}" if others and own is not None else "-")
        lines.append(["" if lines else name, whose, *leads])
    return lines


def _text(experiment, cell):
    if cell is None:
        return "-"
    if experiment.metric == "seconds":
        return f"{cell.mean:.3g} ± {cell.std:.2g}"
    spread = f" ± {cell.std:.1f}" if cell.n > 1 else ""
    return f"{cell.mean:.1f}{spread}{cell.mark}{cell.corrected}"


def _published_text(number):
    if number is None:
        return "-"
    spread = "" if number.std is None else f" ± {number.std:.1f}"
    mean = f"{number.mean:.2f}".removesuffix("0")
    return f"{mean}{spread}{BETTER if number.bullet else ''}"


def _align(header, body):
    lines = [header, *body]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(header))]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    padded.insert(1, ["-" * width for width in widths])
    return ["| " + " | ".join(line) + " |" for line in padded]


def _repetitions(experiment, table):
    counts = Counter(cell.n for cells in table.values() for cell in cells.values())
    least, most = (min(counts), max(counts)) if counts else (0, 0)
    number = str(most) if least == most else f"{least} to {most}"
    fewer = f" (of {experiment.repetitions} planned)" if least < experiment.repetitions else ""
    kind = "seconds" if experiment.metric == "seconds" else f"{experiment.metric} in percent"
    plural = "" if number == "1" else "s"
    return f"Mean and standard deviation of {kind} over {number} repetition{plural}{fewer}."


def _legend(experiment, source, rows):
    if experiment.metric == "seconds":
        return ""
    plain = (
        f"{BETTER}: {experiment.reference} is significantly better, {WORSE}: significantly worse "
        f"(paired t-test, 95 %{', as in the paper' if experiment.published.numbers else ''})"
    )
    if not source.resampled and source.fidelity != "generated":
        return f"{plain}. All repetitions share their test rows: of others it says nothing."
    if not _test_shares(rows):
        return f"{plain}."
    return (
        f"{plain}; {2 * BETTER}, {2 * WORSE}: by the test corrected for repetitions that use the same rows "
        "as well (Nadeau and Bengio 2003: the variance of the mean is 1/k + test rows / training rows, times "
        "that of a difference; strict where there are few training rows)."
    )


def _certificates(rows):
    """Say how the chosen fits are certified, and what failed."""
    good = finished(rows)
    convex = [row for row in good if not row["method"].startswith("LMKL") and row["gap"] is not None]
    worst = max((row["gap"] for row in convex), default=0.0)
    missed = sum(row["gap"] > TOL for row in convex)
    failed = len({row_key(row) for row in rows} - {row_key(row) for row in good})
    text = f"{len(good)} rows; largest relative duality gap of a chosen fit of the convex methods {worst:.1e}"
    text += f", {missed} above {TOL:.0e}" if missed else ""
    loose = sum(row.get("worst_gap", 0.0) > TOL for row in convex)
    text += f", {loose} with another candidate above {TOL:.0e}" if loose else ""
    if not failed:
        return f"{text}."
    good_keys = {row_key(row) for row in good}
    first = next(row["error"] for row in rows if row_key(row) not in good_keys)
    return f"{text}; {failed} failed and will be tried again, the first by {first}"


def _provenance(rows):
    """Say which versions and machines made the rows of which methods, and when."""
    made: dict = defaultdict(Counter)
    for row in finished(rows):
        origin = row["version"], row["commit"], row["cpu"], row["cores"], row["system"]
        made[origin][row["method"].partition(",")[0]] += 1
    dates = sorted(row["date"][:10] for row in finished(rows))
    hours = sum(row["seconds"] for row in finished(rows)) / 3600.0
    return [
        f"Made by localmkl {version} (commit {commit}) on {cpu}, {cores} cores, {system}: {counts.total()} "
        f"rows ({', '.join(f'{kind} {count}' for kind, count in counts.items())})."
        for (version, commit, cpu, cores, system), counts in made.items()
    ] + [f"From {dates[0]} to {dates[-1]}, {hours:.2f} hours of one core."]


CSV_COLUMNS = (
    *("experiment", "data", "fidelity", "method", "point", "n", "mean", "std", "mark", "corrected_mark"),
    *("better", "equal", "worse", "median_C", "median_evenness", "worst_gap", "mean_seconds"),
    *("published_mean", "published_std", "published_bullet"),
)


def to_csv(experiment, source, rows):
    """Return the summary as CSV, one line per method and point."""
    table = tabulate(experiment, rows)
    groups = defaultdict(list)
    for row in finished(rows):
        groups[row["method"], row["point"]].append(row)
    text = io.StringIO()
    others = (*experiment.also, *experiment.costs)
    writer = csv.DictWriter(text, (*CSV_COLUMNS, *others), lineterminator="\n")
    writer.writeheader()
    for method, cells in table.items():
        for point, cell in cells.items():
            members = groups[method, point]
            number = experiment.published.numbers.get(method, {}).get(point)
            line = {
                "experiment": experiment.name,
                "data": source.name,
                "fidelity": source.fidelity,
                "method": method,
                "point": point,
                "n": cell.n,
                "mean": f"{cell.mean:.6g}",
                "std": f"{cell.std:.4g}",
                "mark": cell.mark,
                "corrected_mark": cell.corrected,
                **dict(zip(("better", "equal", "worse"), cell.record, strict=True)),
                "median_C": _median(members, "C"),
                "median_evenness": _median(members, "evenness"),
                "worst_gap": _worst_gap(members),
                "mean_seconds": f"{np.mean([row['seconds'] for row in members]):.4g}",
            }
            for name in others:
                found = [row[name] for row in members if name in row]
                line[name] = f"{np.mean(found):.6g}" if found else ""
            if number is not None:
                line |= {
                    "published_mean": number.mean,
                    "published_std": number.std,
                    "published_bullet": number.bullet,
                }
            writer.writerow(line)
    return text.getvalue()


def _worst_gap(rows):
    gaps = [row["gap"] for row in rows if row["gap"] is not None]
    return f"{max(gaps):.2g}" if gaps else ""


def _median(rows, parameter):
    values = [row["parameters"][parameter] for row in rows if parameter in row.get("parameters", {})]
    known = [value for value in values if value is not None]
    return f"{np.median(known):.4g}" if known else ""
