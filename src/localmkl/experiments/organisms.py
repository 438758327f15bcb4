"""Promoters of several organisms, aligned at the start of transcription: 200 letters before it, 51 after.

Twelve kernels: on each of four parts of the sequences 3-mers and 5-mers anywhere, and words up to 8 letters
in their place, give or take 4 letters.
"""

from dataclasses import dataclass

import numpy as np

from localmkl.datasets import fetch_human_promoters, fetch_mouse_promoters, load_splice
from localmkl.datasets.fasta import read_fasta
from localmkl.datasets.fetchers import locate
from localmkl.experiments.protocol import Task
from localmkl.experiments.sources import DRAW_SEED, describe, draw
from localmkl.kernels import GramStack, Spectrum, WeightedDegree
from localmkl.kernels.stack import compute_stack, fit_kernels

N_EACH = 600
"""Promoters of each organism, and as many other sequences: half of them for training at n = 1200."""

HUMAN_BEFORE = 49
"""Letters by which the human sequences begin before the others."""

PARTS = {"all": (0, 251), "upstream": (0, 150), "core": (150, 230), "downstream": (200, 251)}
"""Parts of the sequences; the TATA box begins at letter 170, transcription at 200."""


@dataclass(frozen=True)
class Organisms:
    """A fixed set of several groups; a repetition draws n training rows, equally from groups and classes."""

    stack: GramStack
    y: np.ndarray
    groups: np.ndarray
    kernels: tuple
    normalize: str = "multiplicative"
    gate_kernel: int | None = None

    def task(self, n_train, repetition):
        """Return the split of this repetition; all other rows are for testing."""
        strata = np.char.add(self.groups.astype(str), self.y.astype(str))
        kinds = np.unique(strata)
        each = n_train // len(kinds)
        least = min(np.sum(strata == kind) for kind in kinds)
        if not 1 <= each < least:
            raise ValueError(
                f"A training size must lie between {len(kinds)} and {len(kinds) * (least - 1)} with these "
                f"rows, got {n_train}."
            )
        rng = np.random.default_rng([DRAW_SEED, repetition])
        orders = [rng.permutation(np.flatnonzero(strata == kind)) for kind in kinds]
        train = np.concatenate([order[:each] for order in orders])
        test = np.concatenate([order[each:] for order in orders])
        return Task(self.stack, self.y, train, None, test, groups=self.groups)

    @property
    def description(self):
        """Facts that the rows of a result file must have in common."""
        return {**describe(self), "groups": sorted(set(self.groups.tolist()))}


def load_organisms(*names, n_each=N_EACH):
    """Return promoters of these organisms and as many other sequences of each."""
    sequences, y, groups = [], [], []
    for name in names:
        found, labels = READERS[name]()
        rows = draw(labels, {1: n_each, -1: n_each})
        sequences.append(found[rows])
        y.append(labels[rows])
        groups += [name] * len(rows)
    return _with_kernels(np.concatenate(sequences), np.concatenate(y), np.array(groups), PARTS)


def load_quick(n_each=40):
    """Return shipped splice sites of two kinds, for a quick look: acceptor and donor sites as groups."""
    sequences, y, groups = [], [], []
    for kind in ("EI", "IE"):
        X, labels, _ = load_splice(kind)
        rows = draw(labels, {1: n_each, -1: n_each})
        sequences.append(X[rows])
        y.append(labels[rows])
        groups += [kind] * len(rows)
    parts = {"before": (0, 30), "after": (30, 60)}
    return _with_kernels(np.concatenate(sequences), np.concatenate(y), np.array(groups), parts)


def _with_kernels(sequences, y, groups, parts):
    table = np.empty((len(sequences), len(parts)), dtype=object)
    kernels = []
    for column, (first, last) in enumerate(parts.values()):
        table[:, column] = [sequence[first:last] for sequence in sequences]
        kernels += [Spectrum(3, column=column), Spectrum(5, column=column)]
        kernels += [WeightedDegree(8, shift=4, column=column)]
    return Organisms(compute_stack(fit_kernels(kernels, table), table), y, groups, tuple(kernels))


def _human():
    sequences, y, _ = fetch_human_promoters("tata")
    return np.array([sequence[HUMAN_BEFORE:] for sequence in sequences], dtype=object), y


def _mouse():
    return fetch_mouse_promoters("epd")[:2]


def _arabidopsis():
    files = [read_fasta(locate(key), unique_names=False).sequences for key in ARABIDOPSIS]
    return np.concatenate(files), np.repeat([1, -1], [len(part) for part in files])


ARABIDOPSIS = ("arabidopsis_tata", "arabidopsis_rest")
READERS = {"human": _human, "mouse": _mouse, "arabidopsis": _arabidopsis}
"""Organism: what reads its sequences of 251 letters, and their labels."""
