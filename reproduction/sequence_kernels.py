"""Kernels on sequences that only the experiments use.

PropertyProfile   values of dinucleotides along DNA, smoothed over a window         (transcription starts)
ResidueGroups     composition, transition and distribution of groups of residues    (protein folds)
SmithWaterman     scores of local alignments with reference sequences; needs parasail
"""

from itertools import combinations

import numpy as np
from sklearn.base import BaseEstimator

from localmkl.kernels import Kernel

DNA = "ACGT"
RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
STEPS = ("AA", "AC", "AG", "AT", "CA", "CC", "CG", "GA", "GC", "TA")
OTHER_STRAND = {"TT": "AA", "GT": "AC", "CT": "AG", "TG": "CA", "GG": "CC", "TC": "GA"}
TABLES = {
    "twist": (35.62, 34.4, 27.7, 31.5, 34.5, 33.67, 29.8, 36.9, 40.0, 36.0),
    "stacking": (-5.37, -10.51, -6.78, -6.57, -6.57, -8.26, -9.69, -9.81, -14.59, -3.82),
}
"""Helical twist angles of B-DNA in degrees (Kabsch, Sander and Trifonov, Nucleic Acids Research 10, 1982) and
base-stacking energies in kcal/mol (Ornstein, Rein, Breen and MacElroy, Biopolymers 17, 1978) of `STEPS`."""
GROUPS = {
    "hydrophobicity": ("RKEDQN", "GASTPHY", "CVLIMFW"),
    "volume": ("GASCTPD", "NVEQIL", "MHKFRYW"),
    "polarity": ("LIFWCMVY", "PATGS", "HQRKNED"),
    "polarizability": ("GASDT", "CPNVEQIL", "KMHFRYW"),
}
"""Groups of residues with alike properties (Dubchak, Muchnik, Holbrook and Kim, PNAS 92, 1995)."""
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of a group's residues whose places are features."""


class PropertyProfile(Kernel):
    """The linear kernel of a property along DNA sequences of one length, smoothed over a window.

    The mean of the table is subtracted first; steps with an ambiguous letter count as the mean.
    """

    def __init__(self, table="twist", window=1, column=None):
        self.table = table
        self.window = window
        self.column = column

    def __call__(self, X, Y=None):
        """Return the Gram of the rows X and Y."""
        table = self.features(X)
        return table @ (table if Y is None else self.features(Y)).T

    def features(self, X):
        """Return the smoothed values, (n, n_positions)."""
        sequences = X if self.column is None else np.asarray(X)[:, self.column]
        steps = dict(zip(STEPS, TABLES[self.table], strict=True))
        steps |= {other: steps[step] for other, step in OTHER_STRAND.items()}
        values = np.zeros((len(DNA) + 1, len(DNA) + 1))
        values[:-1, :-1] = [[steps[a + b] for b in DNA] for a in DNA]
        values[:-1, :-1] -= values[:-1, :-1].mean()
        codes = np.array([[DNA.find(letter) for letter in sequence.upper()] for sequence in sequences])
        profile = values[codes[:, :-1], codes[:, 1:]]
        return np.lib.stride_tricks.sliding_window_view(profile, self.window, axis=1).mean(axis=2)


class ResidueGroups(BaseEstimator):
    """Shares of groups of residues, shares of neighbours that change between two, places of their quarters.

    ``"composition"`` is the 20 shares of the residues alone. Ambiguous residues belong to no group.

    Examples
    --------
    >>> ResidueGroups("hydrophobicity").features(["RGC"])[0, :6].round(2)
    array([0.33, 0.33, 0.33, 0.5 , 0.  , 0.5 ])
    """

    def __init__(self, groups="composition"):
        self.groups = groups

    def features(self, sequences):
        """Return the shares and places, (n, n_features)."""
        groups = GROUPS.get(self.groups, tuple(RESIDUES))
        group_of = {letter: number for number, group in enumerate(groups) for letter in group}
        parts = [np.array([group_of.get(letter, -1) for letter in sequence]) for sequence in sequences]
        if self.groups == "composition":
            return np.array([group_shares(part, len(groups)) for part in parts])
        return np.array([describe_groups(part, len(groups)) for part in parts])


def group_shares(part, n_groups):
    """Return the share of each group among all letters."""
    return np.bincount(part + 1, minlength=n_groups + 1)[1:] / len(part)


def describe_groups(part, n_groups):
    """Return shares, transitions and distribution of the groups along one sequence."""
    low, high = np.minimum(part[:-1], part[1:]), np.maximum(part[:-1], part[1:])
    pairs = combinations(range(n_groups), 2)
    changes = np.array([np.count_nonzero((low == a) & (high == b)) for a, b in pairs]) / max(len(part) - 1, 1)
    places = np.zeros((n_groups, len(QUARTERS)))
    for group in range(n_groups):
        at = np.flatnonzero(part == group) + 1
        if len(at):
            which = [max(int(np.ceil(quarter * len(at))), 1) - 1 for quarter in QUARTERS]
            places[group] = at[which] / len(part)
    return np.concatenate([group_shares(part, n_groups), changes, places.ravel()])


class SmithWaterman(BaseEstimator):
    """Scores of local alignments; a gap costs 11 for its first letter and 1 for each further one."""

    def __init__(self, matrix=None):
        self.matrix = matrix

    def scores(self, sequences, references):
        """Return the scores with the references, (n, n_references)."""
        import parasail

        matrix = getattr(parasail, self.matrix)
        table = np.empty((len(sequences), len(references)))
        for i, sequence in enumerate(sequences):
            profile = parasail.profile_create_sat(sequence, matrix)
            found = (parasail.sw_striped_profile_sat(profile, one, 11, 1) for one in references)
            table[i] = [one.score for one in found]
        return table
