"""Learning curves to 80,000 sequences."""

from functools import partial

from localmkl.experiments import published, scale
from localmkl.experiments.protocol import Experiment, Method, Source

N_LANDMARKS, MORE_LANDMARKS = 100, 400
"""Features of 80,000 sequences under 20 kernels, in float32, are 640 MB and 2.6 GB then."""


def scaled_methods():
    """Return the methods of the learning curves, on features and on exact Grams; slow ones of other rank."""
    families = ("UNIF", "MKL", "CLMKL")

    def method(family, rank, name="", **options):
        return Method(f"{family}{name}", family, fixed={"C": 1.0, "n_components": rank}, **options)

    return (
        *(method(family, N_LANDMARKS) for family in families),
        *(method(family, None, ", exact", most=scale.EXACT_MOST) for family in families),
        *(method("MKL", n, f", {n} landmarks", slow=True) for n in (25, 50, 200)),
        *(method(f, MORE_LANDMARKS, f", {MORE_LANDMARKS} landmarks", slow=True) for f in families),
        method("HLMKL", N_LANDMARKS, slow=True),
    )


SCALE = Experiment(
    name="scale",
    title="Learning curves to 80,000 sequences: features beside exact Grams",
    published=published.NOT_IN_PAPER,
    sources=(
        Source(
            "acceptor",
            "100,000 sequences of 398 letters around AG in C. elegans, 3301 of them acceptor sites",
            "same source",
            partial(scale.load_sequences, scale.fetch_acceptors, 20000),
            "two hours",
            ("acceptor_398",),
            resampled=False,
        ),
        Source(
            "promoter",
            "53,066 human sequences of 70 letters, half of them core promoters without a TATA box",
            "same source",
            partial(scale.load_sequences, scale.fetch_promoters, 10000),
            "one hour",
            tuple(f"human_notata_core_{part}" for part in ("train", "dev", "test")),
            most=40000,
            resampled=False,
        ),
    ),
    methods=scaled_methods(),
    axis="training size",
    points=(1000, 2500, 5000, 10000, 20000, 40000, 80000),
    repetitions=5,
    metric="AUC",
    reference="MKL",
    figure=tuple(
        f"{family}{way}"
        for family in ("UNIF", "MKL", "CLMKL")
        for way in ("", f", {MORE_LANDMARKS} landmarks", ", exact")
    ),
    also={"precision_recall": "area under the precision-recall curve"},
    costs={
        "approximation_error": "Share of the kernels' trace that features leave out",
        "exact_gap": "Relative duality gap of the models on features in the exact problem",
    },
    protocol="Test rows are drawn once, training rows anew for every repetition from all others; nothing is "
    f"balanced. Twenty weighted-degree kernels; features from {N_LANDMARKS} landmarks (training rows, half "
    f"of them positive as far as there are so many); exact Grams up to {scale.EXACT_MOST} rows. C = 1, "
    "p = 4/3, three clusters, evenness 0.7: the defaults but for C, none is tuned.",
    quick={
        "sources": (
            Source(
                "quick",
                "300 shipped splice junctions, three kernels",
                "stand-in",
                scale.load_quick,
                "",
                resampled=False,
            ),
        ),
        "points": (60, 150),
        "repetitions": 2,
    },
)
