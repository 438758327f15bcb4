"""Images: Table 4."""

from localmkl.experiments import published
from localmkl.experiments import sources as data
from localmkl.experiments.catalogue.methods import BESIDE_THE_PAPER
from localmkl.experiments.protocol import Experiment, Method, Source


def tuned_methods(grid, evenness):
    """Return methods whose p is tuned with the rest; CLMKL+ may give up its clusters, by evenness 1."""
    cost = {"C": grid["C"]}
    return (
        Method("UNIF", "UNIF", cost),
        Method("one kernel", "UNIF", cost, alone=True),
        Method("MKL", "MKL", grid),
        Method("LMKL", "LMKL", cost),
        Method("HLMKL", "HLMKL", grid),
        Method("CLMKL", "CLMKL", {**grid, "evenness": evenness}),
        Method("CLMKL+", "CLMKL", {**grid, "evenness": (1.0, *evenness)}),
    )


IMAGES = Experiment(
    name="images",
    title="Image categorisation",
    published=published.IMAGES,
    sources=(
        Source(
            "flowers17",
            "1360 photographs of 17 kinds of flowers, nine chi2 kernels over visual words",
            "stand-in",
            data.load_flowers,
            "two hours",
            ("flowers17",),
        ),
        Source(
            "mfeat",
            "2000 handwritten digits in six views, ten classes, chi2 and RBF kernels",
            "stand-in",
            data.load_digits_in_views,
            "two hours",
            ("mfeat",),
        ),
    ),
    methods=tuned_methods(
        {"C": tuple(float(10 ** (k / 2)) for k in range(6)), "p": (1.125, 4 / 3, 2.0)},
        tuple(float(round(0.5 + i / 12, 6)) for i in reversed(range(6))),
    ),
    axis="data",
    points=("all",),
    repetitions=11,
    metric="accuracy",
    reference="MKL",
    folds=10,
    pairs=(("CLMKL", "MKL"), ("CLMKL+", "MKL"), ("CLMKL+", "CLMKL"), ("HLMKL", "MKL"), ("MKL", "UNIF")),
    protocol="A repetition is one of 11 outer folds, held out for testing; parameters are chosen by 10 "
    "inner folds of the other rows. Visual words and kernel widths are learned once for each outer fold, on "
    "all its training rows, without labels: inner folds share them, test rows have no part in them. Clusters "
    "are learned on the training rows of each fit." + BESIDE_THE_PAPER,
    quick={
        "sources": (
            Source("quick", "90 small digits of three classes", "stand-in", data.load_small_digits, ""),
        ),
        "repetitions": 2,
        "folds": 2,
    },
)
