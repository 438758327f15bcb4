"""Explanations of a fitted model, as arrays: `plots` draws them, `report` puts them into sentences.

kernel_names, kernel_shares    which kernel matters in which cluster
view_shares                    which view, where the rows are `Views`
kernel_contributions           which kernel matters for which sample
main_clusters                  who belongs where most, beside what all share
described_loss                 what was minimised
sample_map                     samples in two dimensions: kernel PCA of the gate kernel
position_contributions         what each letter of a sequence adds to the decision, exactly
logo_heights                   which letters speak for a class

Where a model has ``gate="groups"`` and no column of its rows holds them, functions of rows take `groups`.
"""

from localmkl.estimators.seen import (
    is_precomputed,
    landmarks_of,
    row_groups,
    rows_as_seen,
    training_rows,
    with_training_groups,
)
from localmkl.explain.effects import (
    ColumnEffect,
    Effects,
    column_effects,
    decision_names,
    effects,
    effects_of,
)
from localmkl.explain.letters import (
    decision_part,
    logo_heights,
    position_contributions,
    sequence_columns,
    sequence_places,
    sequences_of,
    weighted_degrees,
)
from localmkl.explain.models import (
    SampleMap,
    bare_kernels,
    class_shares,
    cluster_names,
    described_loss,
    groups_of,
    has_groups,
    histories,
    kernel_contributions,
    kernel_family,
    kernel_names,
    kernel_shares,
    kernel_views,
    local_memberships,
    main_clusters,
    memberships_of,
    norm_of,
    numbered,
    sample_map,
    shared_part,
    view_shares,
)

__all__ = [
    "ColumnEffect",
    "Effects",
    "SampleMap",
    "bare_kernels",
    "class_shares",
    "cluster_names",
    "column_effects",
    "decision_names",
    "decision_part",
    "described_loss",
    "effects",
    "effects_of",
    "groups_of",
    "has_groups",
    "histories",
    "is_precomputed",
    "kernel_contributions",
    "kernel_family",
    "kernel_names",
    "kernel_shares",
    "kernel_views",
    "landmarks_of",
    "local_memberships",
    "logo_heights",
    "main_clusters",
    "memberships_of",
    "norm_of",
    "numbered",
    "position_contributions",
    "row_groups",
    "rows_as_seen",
    "sample_map",
    "sequence_columns",
    "sequence_places",
    "sequences_of",
    "shared_part",
    "training_rows",
    "view_shares",
    "weighted_degrees",
    "with_training_groups",
]
