"""Images: Table 4."""

from localmkl.experiments import published
from localmkl.experiments import sources as data
from localmkl.experiments.protocol import Experiment, Method, Source


def tuned_methods(grid, evenness):
    """Return methods whose p is tuned with the rest."""
    return (
        Method("MKL", "MKL", grid),
        Method("LMKL", "LMKL", {"C": grid["C"]}, slow=True),
        Method("CLMKL", "CLMKL", {**grid, "evenness": evenness}),
    )


IMAGES = Experiment(
    name="images",
    title="Image categorisation",
    published=published.IMAGES,
    sources=(
        Source(
            "mfeat",
            "2000 handwritten digits in six views, ten classes, chi2 and RBF kernels",
            "stand-in",
            data.load_digits_in_views,
            "90 minutes",
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
    protocol="A repetition is one of 11 outer folds, held out for testing; parameters are chosen by 10 "
    "inner folds of the other rows, where kernel widths, visual words and clusters are learned too.",
    quick={
        "sources": (
            Source("quick", "90 small digits of three classes", "stand-in", data.load_small_digits, ""),
        ),
        "repetitions": 2,
        "folds": 2,
    },
)
