"""Generated data, from no locality to strong locality."""

from functools import partial

from localmkl.experiments import published
from localmkl.experiments import sources as data
from localmkl.experiments.catalogue.methods import CURVES, NORMS, falling, table_methods
from localmkl.experiments.protocol import Experiment, Source

LOCAL_EVENNESS = (*falling(0.4, 1.0), 1 / 3)
"""From one cluster (1: MKL) to hard ones (1/3: HLMKL)."""
LOCALIZED = Experiment(
    name="localized",
    title="From no locality to strong locality",
    published=published.NOT_IN_PAPER,
    sources=(
        Source(
            "generated",
            "three groups whose labels depend on their own views by the share on the axis; six linear "
            "kernels, 400 training, 300 validation and 600 test rows",
            "generated",
            data.Localized,
            "15 minutes",
            resampled=False,
        ),
    ),
    methods=table_methods(NORMS, LOCAL_EVENNESS),
    axis="locality",
    points=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    repetitions=20,
    metric="accuracy",
    reference="CLMKL, p = 4/3",
    figure=CURVES,
    protocol="New rows for every repetition, the same for all methods; parameters are chosen by the "
    "validation rows. The gate kernel is that of the view that shows the group; evenness up to 1, where all "
    "clusters are the same.",
    quick={
        "sources": (
            Source(
                "quick",
                "the same, fewer rows",
                "generated",
                partial(data.Localized, {"train": 120, "valid": 60, "test": 100}),
                "",
                resampled=False,
            ),
        ),
        "points": (0.0, 1.0),
        "repetitions": 2,
    },
)
