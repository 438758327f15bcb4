"""Explanations of a fitted model, as arrays: `plots` draws them, `report` puts them into sentences.

effects                        which kernel or column moves decisions, and where
kernel_names, kernel_shares    short names and weights of kernels
main_clusters                  who belongs where most, beside what all share
described_loss                 what was minimised
sample_map                     samples in two dimensions: kernel PCA of the gate kernel
position_contributions         what each letter of a sequence adds to the decision, exactly
logo_heights                   which letters speak for a class

Where a model has ``gate="groups"`` and no column of its rows holds them, functions of rows take `groups`.
"""

from localmkl.estimators.seen import (
    is_precomputed,
    row_groups,
    rows_as_seen,
    training_rows,
)
from localmkl.explain.effects import (
    Effects,
    effects,
    effects_of,
)
from localmkl.explain.letters import (
    decision_part,
    logo_heights,
    position_contributions,
    sequence_places,
    sequences_of,
    weighted_degrees,
)
from localmkl.explain.models import (
    SampleMap,
    bare_kernels,
    cluster_names,
    described_loss,
    groups_of,
    has_groups,
    kernel_names,
    kernel_shares,
    kernel_views,
    local_memberships,
    main_clusters,
    memberships_of,
    numbered,
    sample_map,
    shared_part,
)

__all__ = [
    "Effects",
    "SampleMap",
    "bare_kernels",
    "cluster_names",
    "decision_part",
    "described_loss",
    "effects",
    "effects_of",
    "groups_of",
    "has_groups",
    "is_precomputed",
    "kernel_names",
    "kernel_shares",
    "kernel_views",
    "local_memberships",
    "logo_heights",
    "main_clusters",
    "memberships_of",
    "numbered",
    "position_contributions",
    "row_groups",
    "rows_as_seen",
    "sample_map",
    "sequence_places",
    "sequences_of",
    "shared_part",
    "training_rows",
    "weighted_degrees",
]
