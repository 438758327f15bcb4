"""The certainty of a fitted model: of its weights, of its clusters, and of locality itself.

held_out           what models say of rows that they have not seen: scores, effects, simpler models beside it
decided_on         the same for rows that are new to a fitted model
stability          intervals of weights, kernels that are chosen again, clusters that are found again
locality_test      whether a local model is better than MKL by more than chance
compare_methods    several methods on shared splits, with intervals of the differences
describe_clusters  what sets the samples of a cluster apart

Where a model has ``gate="groups"`` and no column of its rows holds them, functions take `groups`.
"""

from localmkl.inference.comparing import Comparison, compare_methods
from localmkl.inference.describing import ClusterTraits, Trait, describe_clusters
from localmkl.inference.heldout import HeldOut, Matter, decided_on, held_out
from localmkl.inference.locality import LocalityTest, locality_test, permutation_p_value
from localmkl.inference.scores import Score
from localmkl.inference.stability import Stability, stability
from localmkl.model_selection.t_test import corrected_t_test

__all__ = [
    "ClusterTraits",
    "Comparison",
    "HeldOut",
    "LocalityTest",
    "Matter",
    "Score",
    "Stability",
    "Trait",
    "compare_methods",
    "corrected_t_test",
    "decided_on",
    "describe_clusters",
    "held_out",
    "locality_test",
    "permutation_p_value",
    "stability",
]
