"""Rows in, tables out: our numbers with the published ones, as Markdown and CSV.

A mark compares with the experiment's reference method by a paired t-test over repetitions at the 95 % level:
a bullet (•) where the reference is significantly better, as in the paper, a circle (∘) where it is worse.
Where repetitions split the same rows anew, a mark is doubled if the test corrected for this agrees.
"""

import csv
import io
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from localmkl.inference import corrected_t_test
from reproduction.figures import draw_figure
from reproduction.protocol import TOL
from reproduction.rows import finished, read_rows, row_key, stored

BETTER, WORSE = "•", "∘"


@dataclass(frozen=True)
class Cell:
    """One method at one point, over its repetitions: scores in percent (times in seconds)."""

    mean: float
    std: float
    n: int
    marks: tuple = ("", "")
    """Verdicts of the paired t-test, and of that corrected for rows used again."""
    record: tuple = ()
    """Repetitions in which the method is better than, equal to, worse than the reference."""


class Table:
    """The finished rows of an experiment on a data set, and what is computed from them."""

    def __init__(self, experiment, source, settings, rows):
        self.experiment, self.source, self.all_rows = experiment, source, rows
        self.rows = finished(rows)
        self.scale = 1.0 if experiment.metric == "seconds" else 100.0
        self.points = sorted({row["point"] for row in self.rows})
        self.shares = test_shares(self.rows, settings) if source.resampled else {}

    def scores(self, name="score"):
        """Return {(method, point): {repetition: score}}."""
        found: dict = defaultdict(dict)
        for row in self.rows:
            if name in row:
                found[row["method"], row["point"]][row["repetition"]] = self.scale * row[name]
        return found

    def cells(self, name="score"):
        """Return {method: {point: Cell}} of a score in the experiment's order, of what is there."""
        scores, reference = self.scores(name), self.experiment.reference
        table = {}
        for method in self.experiment.methods:
            there = {point: scores[method.label, point] for point in self.points}
            cells = {
                point: self.cell(point, own, scores[reference, point]) for point, own in there.items() if own
            }
            if cells:
                table[method.label] = cells
        return table

    def cell(self, point, own, reference):
        """Return the cell of a method's scores."""
        values = np.array(list(own.values()))
        ours, theirs = paired(own, reference)
        record = int(np.sum(ours > theirs)), int(np.sum(ours == theirs)), int(np.sum(ours < theirs))
        std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        marks = self.marks(ours, theirs, point) if self.experiment.metric != "seconds" else ("", "")
        return Cell(float(values.mean()), std, len(values), marks, record)

    def marks(self, ours, theirs, point):
        """Return the verdicts of the paired t-test on the reference (`theirs`), plain and corrected.

        Fewer than five repetitions are not tested, nor copies of one, whose scores never vary.
        """
        if len(ours) < 5 or np.all(ours == theirs) or np.ptp(ours) == np.ptp(theirs) == 0.0:
            return "", ""
        sign, mark = (1.0, BETTER) if theirs.mean() > ours.mean() else (-1.0, WORSE)

        def verdict(share):
            return mark if 2.0 * corrected_t_test(sign * (theirs - ours), share)[3] < 0.05 else ""

        return verdict(0.0), verdict(self.shares[point]) if point in self.shares else ""

    def leads(self, one, other, point):
        """Return the scores of two methods at a point, of the repetitions that both have."""
        scores = self.scores()
        return paired(scores[one, point], scores[other, point])

    def difference(self, one, other, point):
        """Return mean, standard error and marks of a method's lead over another; None without any."""
        ours, theirs = self.leads(one, other, point)
        if not len(ours):
            return None
        error = np.std(ours - theirs, ddof=1) / np.sqrt(len(ours)) if len(ours) > 1 else 0.0
        return float(np.mean(ours - theirs)), float(error), "".join(self.marks(ours, theirs, point))


def paired(one, other):
    """Return the scores of two methods, of the repetitions that both have."""
    shared = sorted(one.keys() & other.keys())
    return tuple(np.array([scores[k] for k in shared]) for scores in (one, other))


def test_shares(rows, settings):
    """Return {point: rows scored for each training row}, which corrects tests of repeated splits.

    If a row does not say how many are scored, all that are not for training are where inner folds choose, and
    half of them elsewhere.
    """
    shares = defaultdict(list)
    for row in rows:
        others = settings["instances"] - row["n_train"]
        n_valid = 0 if settings["inner_folds"] else others // 2
        shares[row["point"]].append(row.get("n_test", others - n_valid) / row["n_train"])
    return {point: float(np.mean(found)) for point, found in shares.items()}


def read_table(experiment, source, path):
    """Return the `Table` of a file of rows, compressed or not; None if there is none."""
    path = stored(path)
    return None if path is None else Table(experiment, source, *read_rows(path))


def write_summary(experiment, source, path):
    """Write summary, means and figure of the rows in a file, if there are some; return the summary."""
    table = read_table(experiment, source, path)
    if table is None or not table.rows:
        return "No rows yet."
    summary = to_markdown(table)
    path.with_suffix(".md").write_text(summary, encoding="utf-8")
    path.with_suffix(".csv").write_text(to_csv(table), encoding="utf-8")
    draw_figure(table, path.with_suffix(".svg"))
    return summary


def to_markdown(table):
    """Return the summary of an experiment on a data set: what, how, our table and the paper's."""
    experiment, source, cells = table.experiment, table.source, table.cells()
    lines = [
        f"# {experiment.title}",
        "",
        f"- Paper: {experiment.paper}. {experiment.claim} {experiment.notes}".rstrip(),
        f"- Data: {source.what} ({source.fidelity}).",
        f"- Protocol: {experiment.protocol}",
        f"- {repetitions(table, cells)} {legend(table)}".rstrip(),
        f"- {certificates(table)}",
        "",
    ]
    lines += wide_table(table, cells) if len(experiment.points) > 1 else long_table(table, cells)
    for name, title in {**experiment.also, **experiment.costs}.items():
        others = table.cells(name)
        marked, points = name in experiment.also, sorted(set().union(*others.values()))
        body = [
            [method, *(text(table, own.get(point), marked) for point in points)]
            for method, own in others.items()
        ]
        lines += ["", f"{title[0].upper()}{title[1:]}, in percent:", ""]
        lines += align([experiment.axis, *map(str, points)], body)
    lines += differences(table) if experiment.pairs else []
    return "\n".join([*lines, "", *origins(table), ""])


def wide_table(table, cells):
    """Return a table whose columns are points; two lines per method, ours and the paper's."""
    experiment, points = table.experiment, table.points
    published = experiment.published
    body = []
    for method in methods_of(table, cells):
        if method in cells:
            body.append([method, "ours", *(text(table, cells[method].get(point)) for point in points)])
        if any(point in published.get(method, {}) for point in points):
            numbers = (published[method].get(point) for point in points)
            body.append(["" if method in cells else method, "paper", *map(published_text, numbers)])
    if published:
        body += advantages(table, cells)
    return align([experiment.axis, "", *map(str, points)], body)


def long_table(table, cells):
    """Return the table of an axis with one point: methods are lines."""
    experiment = table.experiment
    body = []
    for method in methods_of(table, cells):
        cell = next(iter(cells.get(method, {}).values()), None)
        number = next(iter(experiment.published.get(method, {}).values()), None)
        record = " / ".join(map(str, cell.record)) if cell and method != experiment.reference else ""
        body.append([method, text(table, cell), published_text(number), record])
    return align(["method", "ours", "paper", f"better / equal / worse than {experiment.reference}"], body)


def methods_of(table, cells):
    """Return the methods that we or the paper have, in order."""
    known = (*cells, *table.experiment.published)
    return [method.label for method in table.experiment.methods if method.label in known]


def advantages(table, cells):
    """Return lines with the reference's lead over the best method of another family, ours and the paper's."""
    experiment = table.experiment
    family = next(m.family for m in experiment.methods if m.label == experiment.reference)
    others = [m.label for m in experiment.methods if m.family != family and not m.alone]
    lines: list = []
    for whose, values in (("ours", cells), ("paper", experiment.published)):
        leads = []
        for point in table.points:
            best = [values[label][point].mean for label in others if point in values.get(label, {})]
            own = values.get(experiment.reference, {}).get(point)
            leads.append(f"{own.mean - max(best):+.1f}" if best and own else "-")
        lines.append(["" if lines else f"{experiment.reference} - best other", whose, *leads])
    return lines


def differences(table):
    """Return a table of the differences between pairs of methods in the same repetitions."""
    experiment = table.experiment
    body = [
        [f"{one} - {other}", *(lead_text(table.difference(one, other, point)) for point in table.points)]
        for one, other in experiment.pairs
    ]
    title = f"Differences in {experiment.metric}, in points: mean and standard error over repetitions"
    doubled = ", doubled as above" if table.shares else ""
    marks = f"{BETTER}: the second is significantly better, {WORSE}: the first{doubled}."
    return ["", f"{title}. {marks}", "", *align([experiment.axis, *map(str, table.points)], body)]


def lead_text(lead):
    """Return a difference as it is shown."""
    return "-" if lead is None else f"{lead[0]:+.1f} ± {lead[1]:.1f}{lead[2]}"


def text(table, cell, marked=True):
    """Return a cell as it is shown."""
    if cell is None:
        return "-"
    if table.experiment.metric == "seconds":
        return f"{cell.mean:.3g} ± {cell.std:.2g}"
    spread = f" ± {cell.std:.1f}" if cell.n > 1 else ""
    return f"{cell.mean:.1f}{spread}{''.join(cell.marks) if marked else ''}"


def published_text(number):
    """Return a number of the paper as it is shown."""
    if number is None:
        return "-"
    spread = "" if number.std is None else f" ± {number.std:.1f}"
    mean = f"{number.mean:.2f}".removesuffix("0")
    return f"{mean}{spread}{BETTER if number.bullet else ''}"


def align(header, body):
    """Return the lines of a Markdown table."""
    lines = [header, *body]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(header))]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    padded.insert(1, ["-" * width for width in widths])
    return ["| " + " | ".join(line) + " |" for line in padded]


def repetitions(table, cells):
    """Return how many repetitions the means are of."""
    counts = {cell.n for own in cells.values() for cell in own.values()}
    least, most, planned = min(counts), max(counts), table.experiment.repetitions
    number = str(most) if least == most else f"{least} to {most}"
    fewer = f" (of {planned} planned)" if least < planned else ""
    metric = table.experiment.metric
    kind = "seconds" if metric == "seconds" else f"{metric} in percent"
    return f"Mean and standard deviation of {kind}; repetitions: {number}{fewer}."


def legend(table):
    """Return what the marks mean."""
    experiment, source = table.experiment, table.source
    if experiment.metric == "seconds":
        return ""
    plain = f"{BETTER}: {experiment.reference} is significantly better, {WORSE}: significantly worse "
    plain += f"(paired t-test, 95 %{', as in the paper' if experiment.published else ''})."
    if table.shares:
        return (
            f"{plain} Doubled marks are by the test corrected for repetitions that use the same rows (Nadeau "
            "and Bengio 2003: the variance of the mean is 1/k + test rows / training rows, times that of a "
            "difference; strict where there are few training rows)."
        )
    shared = source.fidelity != "generated"
    return f"{plain} All repetitions share their test rows: of others it says nothing." if shared else plain


def certificates(table):
    """Return how the chosen fits are certified, and what failed."""
    gaps = [row["gap"] for row in table.rows if row["gap"] and not row["method"].startswith("LMKL")]
    worst, missed = max(gaps, default=0.0), sum(gap > TOL for gap in gaps)
    above = f", {missed} above {TOL:.0e}" if missed else ""
    counted = f"{len(table.rows)} rows; largest relative duality gap of a chosen fit of the convex methods "
    good = {row_key(row) for row in table.rows}
    failed = [row["error"] for row in table.all_rows if row_key(row) not in good]
    tried = f"; {len(failed)} failed, the first by {failed[0]}" if failed else ""
    return f"{counted}{worst:.1e}{above}{tried}."


def origins(table):
    """Return which versions and machines made the rows of which methods, and when."""
    made: dict = defaultdict(Counter)
    for row in table.rows:
        origin = row["version"], row["commit"], row["cpu"], row["cores"], row["system"]
        made[origin][row["method"].partition(",")[0]] += 1
    dates = sorted(row["date"][:10] for row in table.rows)
    hours = sum(row["seconds"] for row in table.rows) / 3600.0
    return [
        f"Made by localmkl {version} (commit {commit}) on {cpu}, {cores} cores, {system}: {counts.total()} "
        f"rows ({', '.join(f'{kind} {count}' for kind, count in counts.items())})."
        for (version, commit, cpu, cores, system), counts in made.items()
    ] + [f"From {dates[0]} to {dates[-1]}, {hours:.2f} hours of one core."]


def to_csv(table):
    """Return the summary as CSV, one line per method and point."""
    experiment = table.experiment
    groups = defaultdict(list)
    for row in table.rows:
        groups[row["method"], row["point"]].append(row)
    lines = []
    for method, cells in table.cells().items():
        for point, cell in cells.items():
            rows = groups[method, point]
            gaps = [row["gap"] for row in rows if row["gap"] is not None]
            number = experiment.published.get(method, {}).get(point)
            published = {name: getattr(number, name, None) for name in ("mean", "std", "bullet")}
            lines.append(
                {
                    "experiment": experiment.name,
                    "data": table.source.name,
                    "fidelity": table.source.fidelity,
                    "method": method,
                    "point": point,
                    "n": cell.n,
                    "mean": f"{cell.mean:.6g}",
                    "std": f"{cell.std:.4g}",
                    **dict(zip(("mark", "corrected_mark"), cell.marks, strict=True)),
                    **dict(zip(("better", "equal", "worse"), cell.record, strict=True)),
                    "median_C": median(rows, "C"),
                    "median_evenness": median(rows, "evenness"),
                    "worst_gap": f"{max(gaps):.2g}" if gaps else "",
                    "mean_seconds": f"{np.mean([row['seconds'] for row in rows]):.4g}",
                    **{f"published_{name}": value for name, value in published.items()},
                    **{name: mean_of(rows, name) for name in (*experiment.also, *experiment.costs)},
                }
            )
    content = io.StringIO()
    writer = csv.DictWriter(content, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return content.getvalue()


def mean_of(rows, name):
    """Return the mean of another score of rows that have it, as it is written."""
    found = [row[name] for row in rows if name in row]
    return f"{np.mean(found):.6g}" if found else ""


def median(rows, parameter):
    """Return the median of a chosen parameter, as it is written."""
    values = [row.get("parameters", {}).get(parameter) for row in rows]
    known = [value for value in values if value is not None]
    return f"{np.median(known):.4g}" if known else ""
