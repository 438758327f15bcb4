"""Traits of clusters: what sets the samples of each apart from all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import is_classifier

from localmkl._checks import check_integer, check_number, is_missing
from localmkl._foreign import as_pandas
from localmkl._sklearn import count_rows
from localmkl._types import Array, Bools, Rows, Targets
from localmkl.estimators.groups import rows_of, with_groups
from localmkl.explain import main_clusters
from localmkl.inference.differences import adjusted_p_values, numeric_effects, share_effects
from localmkl.inference.refits import check_model
from localmkl.stacks import Stack
from localmkl.views import Views, as_views

if TYPE_CHECKING:
    from pandas import Series

    from localmkl.estimators.base import BaseMKL


COLUMN, CATEGORY, KMER, LABEL = "column", "category", "k-mer", "label"
MOST_CATEGORIES = 50
"""Values of a column of texts beyond which it names samples rather than describes them."""
BLOCK = 1024
"""Columns of sparse rows that are spread out at a time."""


@dataclass(frozen=True)
class Trait:
    """One way in which a cluster differs from all other samples.

    Parameters
    ----------
    cluster : str
    kind : {"column", "category", "k-mer", "label"}
    name : str
        Of the column, the value of a column, the letters and their position, or the label.
    inside, outside : float
        Means, or shares, in the cluster and outside it.
    effect : float
        Difference of means in standard deviations, or difference of shares.
    rank_biserial : float
        By how much more often a sample inside is larger than one outside than the other way round; NaN of
        shares.
    p_value, q_value : float
        Before and after the correction of Benjamini and Hochberg.

    Examples
    --------
    >>> older = Trait("cluster 1", "column", "age", 71.0, 54.0, 1.2, 0.6, p_value=0.001, q_value=0.01)
    >>> older.name, older.inside - older.outside
    ('age', 17.0)
    """

    cluster: str
    kind: str
    name: str
    inside: float
    outside: float
    effect: float
    rank_biserial: float
    p_value: float
    q_value: float


@dataclass(frozen=True)
class ClusterTraits:
    """The result of `describe_clusters`.

    Parameters
    ----------
    clusters : list of str
    counts : ndarray of int of shape (n_clusters,)
        Samples whose main cluster each is.
    traits : list of Trait
        All that were looked at, cluster by cluster, the surest first.
    false_discovery_rate : float
        Share of false ones, on average, among those of `found`.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(150, random_state=0)[:2]
    >>> traits = describe_clusters(CLMKLClassifier(random_state=0).fit(X, y), X, y)
    >>> traits.clusters, int(traits.counts.sum()), len(traits.found()) < len(traits.traits)
    (['cluster 1', 'cluster 2', 'cluster 3'], 150, True)
    """

    clusters: list[str]
    counts: np.ndarray
    traits: list[Trait] = field(repr=False)
    false_discovery_rate: float

    def found(self, cluster: str | None = None) -> list[Trait]:
        """Return the traits whose adjusted p-value is at most the false discovery rate.

        Parameters
        ----------
        cluster : str, optional
            Only those of this one.

        Returns
        -------
        list of Trait
        """
        return [
            trait
            for trait in self.traits
            if trait.q_value <= self.false_discovery_rate and cluster in (None, trait.cluster)
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return all traits as a list of flat dicts, for a table."""
        return [asdict(trait) for trait in self.traits]


def describe_clusters(
    model: BaseMKL,
    X: Rows,
    y: Targets,
    *,
    max_length: int = 2,
    false_discovery_rate: float = 0.05,
    groups: ArrayLike | None = None,
) -> ClusterTraits:
    """Say what sets the samples of each cluster apart from all others.

    Columns of numbers by their means (in standard deviations) and ranks, categories and labels by their
    shares, sequences of one length by the letters at each position, others by the words they contain. A
    sample counts to its main cluster. P-values of all clusters are corrected together by Benjamini and
    Hochberg.

    Clusters are found in the rows, so that columns that the gate sees differ between clusters even where
    there are none: their p-values say which columns the clusters were made from, not that clusters exist.
    Labels, and columns that the gate does not see, are tested without this reserve.

    Parameters
    ----------
    model : fitted HLMKL or CLMKL estimator, or search
        Any convex model; with one cluster there is nothing to tell.
    X, y : rows and targets
        Samples to describe: those of its fit, or others.
    max_length : int, default=2
        Longest words of sequences.
    false_discovery_rate : float, default=0.05
        Share of false ones, on average, among the traits that are found.
    groups : array-like of shape (n_samples,), optional
        For ``gate="groups"``.

    Returns
    -------
    ClusterTraits

    References
    ----------
    Benjamini, Hochberg: Controlling the false discovery rate. JRSS B 57, 1995.

    Examples
    --------
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.datasets import make_localized
    >>> X, y = make_localized(150, random_state=0)[:2]
    >>> model = CLMKLClassifier(random_state=0).fit(X, y)
    >>> traits = describe_clusters(model, X, y)
    >>> traits.found()[0].name in {"column 0", "column 1", "column 2"}
    True
    """
    model = check_model(model)
    check_integer("max_length", max_length, low=1)
    check_number("false_discovery_rate", false_discovery_rate, low=0.0, low_open=True, high=1.0)
    numbers, names = main_clusters(model, X, groups=groups)
    y = model._check_y(y)
    rows = rows_of(with_groups(X, groups))
    if count_rows(rows if not isinstance(rows, list) else numbers) != len(y) or len(numbers) != len(y):
        raise ValueError(f"`X` and `y` must have as many rows, got {len(numbers)} and {len(y)}.")
    blocks = list(chain(_labels(model, y), _blocks(model, rows, max_length)))
    found = []
    for number, cluster in enumerate(names):
        inside = numbers == number
        if 0 < inside.sum() < len(inside):
            found += [(cluster, *one) for block in blocks for one in _compared(block, inside)]
    q_values = adjusted_p_values(np.array([values["p_value"] for *_, values in found]))
    traits = [
        Trait(cluster, kind, name, q_value=float(q), **{key: float(value) for key, value in values.items()})
        for (cluster, kind, name, values), q in zip(found, q_values, strict=True)
    ]
    places = {cluster: number for number, cluster in enumerate(names)}
    traits.sort(key=lambda trait: (places[trait.cluster], trait.p_value, -abs(trait.effect)))
    return ClusterTraits(names, np.bincount(numbers, minlength=len(names)), traits, false_discovery_rate)


@dataclass(frozen=True)
class _Block:
    """Columns of one kind: numbers, or whether something is so; and the samples that have them."""

    kind: str
    names: list[str]
    table: np.ndarray
    known: np.ndarray


def _compared(block: _Block, inside: Bools) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield (kind, name, values) of each column of a block."""
    own = inside[block.known]
    if block.table.dtype == bool:
        effects = share_effects(block.table, own)
    else:
        effects = numeric_effects(block.table, own)
    for place, name in enumerate(block.names):
        yield block.kind, name, {key: values[place] for key, values in effects.items()}


def _labels(model: BaseMKL, y: Targets) -> Iterator[_Block]:
    everyone = np.ones(len(y), dtype=bool)
    if is_classifier(model):
        classes = np.unique(y)
        yield _Block(LABEL, [str(label) for label in classes.tolist()], y[:, None] == classes, everyone)
    else:
        yield _Block(LABEL, ["target"], np.asarray(y, dtype=np.float64)[:, None], everyone)


def _blocks(model: BaseMKL, rows: Rows, max_length: int) -> Iterator[_Block]:
    """Yield the columns of rows of any kind, in blocks."""
    if isinstance(rows, Stack) or model._precomputed:
        return
    rows = as_views(rows)
    if isinstance(rows, Views):
        for name in rows.names:
            known = rows.present(name)
            if not known.all():
                yield _Block(CATEGORY, [f"has {name}"], known[:, None], np.ones(len(known), dtype=bool))
            if known.any():
                columns = rows.columns(name)
                for block in _of_table(rows.rows(name), columns, max_length):
                    names = [f"{name}: {own}" for own in block.names]
                    places = np.zeros(len(known), dtype=bool)
                    places[np.flatnonzero(known)[block.known]] = True
                    yield _Block(block.kind, names, block.table, places)
        return
    yield from _of_table(as_pandas(rows), getattr(model, "feature_names_in_", None), max_length)


def _of_table(rows: Rows, columns: Any, max_length: int) -> Iterator[_Block]:
    n_rows = count_rows(rows)
    everyone = np.ones(n_rows, dtype=bool)
    if hasattr(rows, "iloc"):
        for name in rows.columns:
            yield from _of_column(str(name), rows[name], everyone)
        return
    if sparse.issparse(rows):
        names = _named(columns, rows.shape[1])
        for first in range(0, rows.shape[1], BLOCK):
            part = rows.tocsc()[:, first : first + BLOCK].toarray().astype(np.float64)
            yield _Block(COLUMN, names[first : first + BLOCK], part, everyone)
        return
    table = np.asarray(rows) if not isinstance(rows, list) else np.asarray(rows, dtype=object)
    if table.ndim == 1:
        yield from _of_texts(table, max_length)
    elif table.dtype.kind in "biuf":
        yield _Block(COLUMN, _named(columns, table.shape[1]), table.astype(np.float64), everyone)
    else:
        for name, column in zip(_named(columns, table.shape[1]), table.T, strict=True):
            yield from _of_column(name, column, everyone)


def _named(columns: Any, n_columns: int) -> list[str]:
    if columns is None or isinstance(columns, int):
        return [f"column {place}" for place in range(n_columns)]
    return [str(name) for name in columns]


def _of_column(name: str, column: Series, everyone: Bools) -> Iterator[_Block]:
    """Yield a column of numbers, or the values of one of categories; of too many values, nothing."""
    values = np.asarray(column, dtype=object)
    known = np.array([not is_missing(value) for value in values], dtype=bool)
    numbers = all(isinstance(value, int | float | np.number) for value in values[known].tolist())
    if numbers and not all(isinstance(value, bool | np.bool_) for value in values[known].tolist()):
        table = np.full((len(values), 1), np.nan)
        table[known, 0] = values[known].astype(np.float64)
        yield _Block(COLUMN, [name], table, everyone)
        return
    texts = np.array([str(value) for value in values[known]], dtype=object)
    found = sorted(set(texts.tolist()))
    if 0 < len(found) <= MOST_CATEGORIES:
        table = np.column_stack([texts == value for value in found])
        yield _Block(CATEGORY, [f"{name} = {value}" for value in found], table, known)


def _of_texts(texts: Array, max_length: int) -> Iterator[_Block]:
    """Yield the words of sequences: at their positions, counted from 1, if all have one length."""
    known = np.array([not is_missing(text) for text in texts], dtype=bool)
    own = [text.decode() if isinstance(text, bytes) else str(text) for text in texts[known]]
    if not own:
        return
    length = len(own[0])
    aligned = all(len(text) == length for text in own)
    for size in range(1, max_length + 1):
        if not aligned:
            yield _words(own, size, known)
            continue
        for position in range(length - size + 1):
            words = np.array([text[position : position + size] for text in own])
            found = np.unique(words)
            names = [f"{word} at {position + 1}" for word in found.tolist()]
            yield _Block(KMER, names, words[:, None] == found, known)


def _words(texts: Sequence[str], size: int, known: Bools) -> _Block:
    """Return which texts contain each word of one length."""
    sets = [{text[i : i + size] for i in range(len(text) - size + 1)} for text in texts]
    found = sorted(set().union(*sets))
    table = np.array([[word in own for word in found] for own in sets], dtype=bool)
    return _Block(KMER, found, table.reshape(len(texts), len(found)), known)
