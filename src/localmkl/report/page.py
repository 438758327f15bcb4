"""The report's page: sections in, one HTML file out, which needs no network."""

import json
import warnings
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from localmkl._checks import check_integer
from localmkl._files import check_place, write_whole
from localmkl._types import FilePath, Rows, Targets
from localmkl.report.certainty import ask, check_resamples
from localmkl.report.prose import Figure, PlainRows, Section, brief
from localmkl.report.quality import TRAINING, Quality, assess
from localmkl.report.subject import Subject


def write_report(
    model: Any,
    path: FilePath,
    *,
    X: Rows = None,
    y: Targets = None,
    train: tuple[Any, ...] | None = None,
    groups: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    kernel_names: Sequence[str] | None = None,
    title: str | None = None,
    cv: int = 5,
    baselines: bool = True,
    seconds: float | None = None,
    max_samples: int = 1000,
    stability: int = 0,
    random_state: int = 0,
    verbose: int = 0,
) -> Path:
    """Write what a fitted model says, and how good it is, as one HTML file that needs no network.

    Parameters
    ----------
    model : fitted estimator of localmkl, or a fitted pipeline or search that ends in one
        A search adds the table of its candidates.
    path : str or path-like
        The file; it is written whole or not at all.
    X : rows, or GramStack; optional
        The samples to show. With precomputed kernels, their Grams with the training rows. By default the
        training rows, where the model keeps them.
    y : array-like of shape (n_samples,), optional
        Their targets. Quality is measured on those rows that the model was surely not trained on. If there
        are none, it is cross-validated.
    train : tuple (X, y) or (X, y, groups), optional
        The training data: needed beside held-out data for the baselines and the bound.
    groups : array-like of shape (n_samples,), optional
        The groups of the rows of `X`, for a model with ``gate="groups"`` that finds them in no column.
    names : sequence of str, optional
        Names of the rows of `X`. A model of the command line that was fitted with names knows its training
        rows by them, too.
    kernel_names : sequence of str, optional
    title : str, optional
    cv : int, default=5
        Folds of the cross-validation; 0 for none.
    baselines : bool, default=True
        Fit equal weights (UNIF) and global weights (MKL) for comparison; for a model of known groups also
        one model for each group, and one that shares nothing.
    seconds : float, optional
        How long the training took.
    max_samples : int, default=1000
        Most samples that are shown one by one, a random choice of more.
    stability : int, default=0
        Refits on halves of the training data, an even number such as 100, that say how sure weights and
        clusters are; 0 for none. See `localmkl.inference.stability`.
    random_state : int, default=0
        Seed of that choice, of folds, refits and of the bootstrap.
    verbose : int, default=0
        1 shows a progress bar of the refits.

    Returns
    -------
    path : pathlib.Path
        Where the report is.

    Examples
    --------
    >>> import tempfile
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(60, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(model, f"{folder}/report.html", X=X, y=y, cv=2)
    ...     print(path.name, path.read_text(encoding="utf-8")[:15])
    report.html <!doctype html>
    """
    _check_extra()
    from localmkl.report.sections import all_sections, lead_sentences

    check_integer("cv", cv, low=0)
    check_integer("max_samples", max_samples, low=2)
    check_integer("random_state", random_state, low=0)
    check_resamples(stability)
    path = Path(path)
    check_place(path)
    subject = Subject(model, X, y, train, names, kernel_names, max_samples, random_state, groups)
    subject.check_decisions()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "There are rows of groups")  # said above, and on the page
        certainty = ask(subject, stability, verbose) if stability else None
        quality = assess(subject, cv=cv, baselines=baselines, seconds=seconds)
        sections, modes = all_sections(subject, quality, seconds, certainty)
    page = render(
        sections,
        title=title or f"{subject.called}: what matters where",
        lead=lead_sentences(subject, quality, certainty),
        facts=facts(subject, quality),
        modes=modes,
        kernels=subject.kernels,
        regions=subject.regions,
    )
    # Half of a surrogate pair, as in file names that are no UTF-8, is written by its number.
    write_whole(path, page.encode("utf-8", "backslashreplace"))
    return path


def facts(subject: Subject, quality: Quality | None) -> list[tuple[str, str]]:
    """Return the few numbers that stand at the top, as (name, value)."""
    shown = [("method", subject.called), ("training samples", f"{subject.n_train:,}")]
    if subject.views:
        shown.append(("views", f"{len(subject.views):,}"))
    shown.append(("kernels", f"{len(subject.kernels):,}"))
    if not subject.alike:
        shown.append((f"{subject.noun}s", f"{len(subject.regions) - bool(subject.shared):,}"))
    if subject.shared:
        shown.append(("shared", brief(subject.shared)))
    if quality is not None and quality.kind != TRAINING:
        shown.append((f"{quality.main.name}, {quality.kind}", quality.main.written(quality.score)))
    missed = ", not converged" if subject.unfinished else ""
    return [*shown, ("duality gap", f"{subject.model.duality_gap_:.0e}{missed}")]


def render(
    sections: list[Section],
    *,
    title: str,
    lead: list[str],
    facts: list[tuple[str, str]],
    modes: PlainRows,
    kernels: list[str],
    regions: list[str],
) -> str:
    """Return the page as text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("localmkl.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    figures = [block for section in sections for block in section.blocks if isinstance(block, Figure)]
    data = {
        "charts": {figure.key: figure.spec for figure in figures if figure.spec is not None},
        "modes": modes,
        "kernels": kernels,
        "regions": regions,
    }
    return environment.get_template("page.html.jinja").render(
        title=title,
        lead=lead,
        facts=facts,
        sections=sections,
        modes=modes,
        style=Markup(_text("page.css")),
        script=Markup(_text("page.js")),
        vega=Markup(_vega()),
        # "<" could end the script element; in JSON it may be written by its number.
        data=Markup(json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")),
    )


def _text(name: str) -> str:
    return files("localmkl.report").joinpath("page", name).read_text(encoding="utf-8")


@cache
def _vega() -> str:
    """Return Vega, Vega-Lite (of the version Altair writes) and Vega-Embed as JavaScript, some 900 kB."""
    import altair
    import vl_convert

    version = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    return bundle.replace("</script", "<\\/script")


def _check_extra() -> None:
    try:
        import altair  # noqa: F401
        import jinja2  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"A report needs {error.name}, which is not installed; install the extra `localmkl[report]`."
        ) from error
