"""Whose clusters: those of the training rows, of all rows (their labels unseen), or of some of these."""

from dataclasses import replace

from localmkl.experiments import published
from localmkl.experiments import sources as data
from localmkl.experiments.catalogue.methods import COSTS, falling
from localmkl.experiments.catalogue.sites import HELD_OUT_PROTOCOL, HUMAN, MOUSE, SPLICE
from localmkl.experiments.protocol import Experiment, Method, Source

P = {"p": 4 / 3}
"""The norm of the paper's reference."""
EVENNESS = falling(0.4, 0.8)
JOINT_PROTOCOL = HELD_OUT_PROTOCOL.replace(
    "Clusters are learned on the training rows.",
    "Inductive clusters are learned on the training rows, transductive ones on all rows, labels unseen; "
    "p = 4/3. CLMKL+ may choose an evenness of 1 too, that is MKL.",
)
UNLABELLED_ROWS = (0, 50, 100, 200, 400, None)
"""None stands for all."""


def transductive_methods():
    """Return methods without clusters, and with clusters of the training rows and of all rows."""
    grid = {"C": COSTS}
    ranges = {
        "HLMKL": grid,
        "CLMKL": {**grid, "evenness": EVENNESS},
        "CLMKL+": {**grid, "evenness": (1.0, *EVENNESS)},
    }
    return (
        Method("UNIF", "UNIF", grid),
        Method("MKL", "MKL", grid, P),
        *(
            Method(f"{kind}, {way}", kind.rstrip("+"), values, P, unlabelled=unlabelled)
            for kind, values in ranges.items()
            for way, unlabelled in (("inductive", 0), ("transductive", None))
        ),
    )


TRANSDUCTION = Experiment(
    name="transduction",
    title="Clusters of the training rows against clusters of all rows",
    published=published.NOT_IN_PAPER,
    sources=(
        *(replace(source, duration="30 minutes") for source in SPLICE.sources),
        *(replace(source, duration="60 minutes") for source in (MOUSE, *HUMAN)),
    ),
    methods=transductive_methods(),
    axis="training size",
    points=SPLICE.points,
    repetitions=50,
    metric="AUC",
    reference="CLMKL, inductive",
    figure=(
        "UNIF",
        *(f"{family}, {way}" for family in ("HLMKL", "CLMKL") for way in ("inductive", "transductive")),
    ),
    pairs=tuple(
        (f"{kind}, transductive", other) for kind in ("CLMKL", "CLMKL+") for other in ("UNIF", "MKL")
    ),
    protocol=JOINT_PROTOCOL + " Half of the instances are positive where the source has enough. Clusters of "
    "promoters come from the TSS kernel, of splice sites from the mean of all.",
    quick=SPLICE.quick,
)

TRANSDUCTION_CLASSES = replace(
    TRANSDUCTION,
    name="transduction-classes",
    title="Clusters of the training rows against clusters of all rows, several classes",
    metric="accuracy",
    sources=(
        Source(
            "mfeat",
            "1000 of 2000 handwritten digits in six views, ten classes, chi2 and RBF kernels",
            "stand-in",
            data.load_digits_to_split,
            "90 minutes",
            ("mfeat",),
        ),
        Source(
            "flowers17",
            "1360 photographs of 17 kinds of flowers, nine chi2 kernels over visual words of all of them",
            "stand-in",
            data.load_flowers_stack,
            "90 minutes",
            ("flowers17",),
        ),
    ),
    points=(50, 100, 200, 400, 800),
    repetitions=20,
    protocol=JOINT_PROTOCOL + " One class against all others. Kernels on digits learn their widths from "
    "the training rows, those on photographs widths and visual words from all, labels unseen.",
    quick={
        "sources": (
            Source(
                "quick", "120 small digits of three classes", "stand-in", data.load_small_digits_to_split, ""
            ),
        ),
        "points": (30, 60),
        "repetitions": 2,
    },
)


def with_unlabelled(counts):
    """Return CLMKL with so many rows without labels to find its clusters."""
    grid = {"C": COSTS, "evenness": EVENNESS}
    return tuple(
        Method(f"CLMKL, u = {'all' if u is None else u}", "CLMKL", grid, P, unlabelled=u) for u in counts
    )


UNLABELLED = Experiment(
    name="unlabelled",
    title="Clusters of the training rows and of some rows without labels",
    published=published.NOT_IN_PAPER,
    sources=tuple(replace(source, duration="30 minutes") for source in TRANSDUCTION.sources),
    methods=with_unlabelled(UNLABELLED_ROWS),
    axis="training size",
    points=(50, 100, 200),
    repetitions=50,
    metric="AUC",
    reference="CLMKL, u = 0",
    figure=tuple(method.label for method in with_unlabelled(UNLABELLED_ROWS)),
    turned="u, rows without labels",
    protocol=HELD_OUT_PROTOCOL.replace(
        "Clusters are learned on the training rows.",
        "Clusters are learned on the training rows and u others, labels unseen: half of them validation and "
        "half test rows, more hold the fewer; p = 4/3.",
    ),
    quick={**SPLICE.quick, "methods": tuple(m.thinned() for m in with_unlabelled((0, 20, None)))},
)
