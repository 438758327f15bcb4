"""The section on convergence: primal and dual of every step of the solver."""

import numpy as np

from localmkl import explain
from localmkl._types import Floats
from localmkl.report import charts
from localmkl.report.prose import Figure, Section, Table
from localmkl.report.subject import Subject


def convergence_section(subject: Subject) -> Section:
    """Return primal and dual of every step."""
    steps = max(explain.histories(subject.model), key=lambda history: len(history["gap"]))
    names = ["primal", "dual"]
    rows = [
        {"x": i + 1, "y": float(f"{value:.7g}"), "series": name}
        for name in names
        for i, value in enumerate(steps[name])
        if np.isfinite(value)
    ]
    spec = charts.lines(
        rows,
        order=names,
        colors=[charts.ACCENT, charts.INK],
        dashes=[[1, 0], [5, 3]],
        titles=("step", "objective"),
        points=True,
    )
    cells = [
        [str(i + 1), f"{primal:.6g}", f"{dual:.6g}", f"{gap:.1e}"]
        for i, (primal, dual, gap) in enumerate(
            zip(steps["primal"], steps["dual"], steps["gap"], strict=True)
        )
    ]
    table = Table("Steps of the solver", ["step", "primal", "dual", "relative gap"], cells)
    title = "Primal and dual value of every step"
    figure = Figure("convergence", title, convergence_text(subject, steps), spec, table=table)
    text = (
        "The primal is the objective of the solution so far, the dual a bound on the best possible one: that "
        "lies between the two lines, and where they meet it is found."
    )
    if isinstance(subject.model.history_, list):
        text += " There is one problem for each class; shown is the one that took most steps."
    return Section("convergence", "How the solution was found", [text], [figure])


def convergence_text(subject: Subject, steps: dict[str, Floats]) -> str:
    """Say how many steps it took and where it ended."""
    gaps, tol = np.asarray(steps["gap"]), subject.model.tol
    missed = ", and not reached" if subject.unfinished else ""
    if len(gaps) == 1 and missed:
        return f"After one step the relative gap was {gaps[0]:.1e}; {tol:.1e} was asked for{missed}."
    if len(gaps) == 1:
        return f"One step was enough: the relative gap was {gaps[0]:.1e} at once."
    went = "fell" if gaps[-1] < gaps[0] else "went"
    return (
        f"In {len(gaps)} steps the relative gap {went} from {gaps[0]:.1e} to {gaps[-1]:.1e}; {tol:.1e} was "
        f"asked for{missed}."
    )
