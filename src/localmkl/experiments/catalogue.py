"""Every table and figure of the paper as data: `EXPERIMENTS`, by name."""

from dataclasses import replace
from functools import partial

import numpy as np

from localmkl.experiments import incomplete, organisms, published, scale
from localmkl.experiments import sources as data
from localmkl.experiments.protocol import Experiment, Method, Source

COSTS = tuple(float(c) for c in np.logspace(-1.0, 2.0, 7))
NORMS = {"1": 1.0, "4/3": 4 / 3, "2": 2.0}
CURVES = ("UNIF", "LMKL", "MKL, p = 1", "HLMKL, p = 1", "CLMKL, p = 1")
"""The methods that the paper's figures show, and UNIF."""


def falling(low, high):
    """Return eight values of the evenness, the smoothest first: of equal scores the first wins."""
    return tuple(float(value) for value in np.linspace(high, low, 8).round(6))


def table_methods(norms, evenness):
    """Return the rows of a table: p is not tuned but a row of its own."""
    grid = {"C": COSTS}
    return (
        Method("UNIF", "UNIF", grid),
        Method("LMKL", "LMKL", grid, slow=True),
        *(Method(f"MKL, p = {name}", "MKL", grid, {"p": p}) for name, p in norms.items()),
        *(Method(f"HLMKL, p = {name}", "HLMKL", grid, {"p": p}) for name, p in norms.items()),
        *(
            Method(f"CLMKL, p = {name}", "CLMKL", {**grid, "evenness": evenness}, {"p": p})
            for name, p in norms.items()
        ),
    )


def tuned_methods(grid, evenness):
    """Return methods whose p is tuned with the rest."""
    return (
        Method("MKL", "MKL", grid),
        Method("LMKL", "LMKL", {"C": grid["C"]}, slow=True),
        Method("CLMKL", "CLMKL", {**grid, "evenness": evenness}),
    )


def timed_methods():
    """Return the methods of the figure on execution time: one fit at C = 1 and evenness 0.5."""
    cost = {"C": 1.0}
    methods = [Method("UNIF", "UNIF", fixed=cost), Method("LMKL", "LMKL", fixed=cost)]
    for family in ("MKL", "HLMKL", "CLMKL"):
        for name, p in (("1", 1.0), ("2", 2.0)):
            fixed = {**cost, "p": p, **({"evenness": 0.5} if family == "CLMKL" else {})}
            methods.append(Method(f"{family}, p = {name}", family, fixed=fixed))
            published_way = {**fixed, "solver": "alternating", "max_iter": 2000}
            methods.append(Method(f"{family}, p = {name}, Algorithm 1", family, fixed=published_way))
    return tuple(methods)


HELD_OUT_PROTOCOL = (
    "Random splits: n training rows, half of the rest for validation and half for testing, the same for "
    "all methods. Parameters are chosen by the validation rows; the chosen model is not fitted again with "
    "them. Of equal validation scores the smaller C and the larger evenness win. Clusters are learned on "
    "the training rows."
)
UCI = Source(
    "uci",
    "primate splice junctions of UCI (shipped): 1000 of 3190, half of them donor sites, 60 letters",
    "stand-in",
    data.load_uci_splice,
    "45 minutes",
)
SPLICE = Experiment(
    name="splice",
    title="Splice site recognition",
    published=published.SPLICE,
    sources=(
        Source(
            "acceptor-398",
            "C. elegans acceptor sites: 1000 of 100000, half of them spliced, 398 letters",
            "same source",
            partial(data.load_acceptor, 398),
            "45 minutes",
            ("acceptor_398",),
        ),
        Source(
            "acceptor-82",
            "C. elegans acceptor sites: 1000 of 2200, 200 of them spliced, 82 letters",
            "same source",
            partial(data.load_acceptor, 82),
            "45 minutes",
            ("acceptor_82",),
        ),
        UCI,
    ),
    methods=table_methods(NORMS, falling(0.4, 0.8)),
    axis="training size",
    points=(50, 100, 200, 300, 400, 500, 600, 700, 800),
    repetitions=50,
    metric="AUC",
    reference="CLMKL, p = 4/3",
    figure=CURVES,
    protocol=HELD_OUT_PROTOCOL
    + " Half of the instances are positive where the source has enough: the paper does not say how many "
    "were, and its standard deviations agree with balanced classes.",
    quick={
        "sources": (
            Source(
                "quick", "120 shipped splice junctions", "stand-in", partial(data.load_uci_splice, 120), ""
            ),
        ),
        "points": (30, 60),
        "repetitions": 2,
    },
)

QUICK_PROMOTERS = (
    Source("quick", "200 shipped splice junctions, five kernels", "stand-in", data.load_uci_as_promoters, ""),
)
MOUSE = Source(
    "mouse",
    "mouse TATA promoters of EPDnew, 1255 of them, and as many other sequences; 251 letters, -200 to +50",
    "stand-in",
    data.load_mouse,
    "45 minutes",
    ("mouse_epd", "mouse_rest"),
)
TSS = Experiment(
    name="tss",
    title="Transcription start site detection",
    published=published.TSS,
    sources=(MOUSE,),
    methods=table_methods(NORMS, falling(0.4, 0.8)),
    axis="training size",
    points=(50, 100, 200, 300, 400, 500, 600, 800, 1000),
    repetitions=50,
    metric="AUC",
    reference="CLMKL, p = 4/3",
    figure=CURVES,
    protocol=HELD_OUT_PROTOCOL + " Clusters and gates come from the TSS kernel.",
    quick={"sources": QUICK_PROMOTERS, "points": (40, 80), "repetitions": 2},
)

PROTEIN = Experiment(
    name="protein",
    title="Protein fold prediction",
    published=published.PROTEIN,
    sources=(
        Source(
            "rank-27",
            "the 12 original kernels on 694 proteins, cut to rank 27",
            "original",
            data.load_fold_kernels,
            "40 minutes",
            ("fold_kernels", "fold_train", "fold_test"),
        ),
        Source(
            "sequences",
            "11 of the 12 kernels computed again from the 694 sequences: all but predicted secondary "
            "structure",
            "same source",
            data.load_fold_sequences,
            "25 minutes",
            ("fold_train", "fold_test"),
        ),
    ),
    methods=table_methods({"1": 1.0, "1.2": 1.2, "2": 2.0}, falling(0.4, 0.7)),
    axis="training size",
    points=(311,),
    repetitions=15,
    metric="accuracy",
    reference="CLMKL, p = 1.2",
    folds=5,
    protocol="311 training and 383 test proteins as published, one fold against all others. Parameters are "
    "chosen by five stratified folds of the training proteins alone, the chosen model is fitted again on "
    "all of them. A repetition changes the folds and the seed of k-means.",
    quick={
        "sources": (
            Source("quick", "generated rows of three classes", "generated", data.load_generated_classes, ""),
        ),
        "points": (60,),
        "repetitions": 2,
        "folds": 2,
    },
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

TIME = Experiment(
    name="time",
    title="Training time",
    published=published.TIME,
    sources=(
        replace(MOUSE, duration="25 minutes"),
        Source(
            "uci",
            "primate splice junctions of UCI (shipped), 1500 of 3190, under the same five kernels",
            "stand-in",
            partial(data.load_uci_as_promoters, 1500),
            "25 minutes",
        ),
    ),
    methods=timed_methods(),
    axis="training size",
    points=(100, 200, 400, 600, 800, 1000),
    repetitions=20,
    metric="seconds",
    reference="CLMKL, p = 2",
    figure=tuple(method.label for method in timed_methods()),
    protocol="One fit at C = 1, three clusters, evenness 0.5, to a relative gap of 1e-3, in one thread on "
    "Gram matrices that are there; clustering and certificate are part of it. Algorithm 1 is the paper's, "
    "in this package.",
    quick={"sources": QUICK_PROMOTERS, "points": (40, 80), "repetitions": 2},
)

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
            ),
        ),
        "points": (0.0, 1.0),
        "repetitions": 2,
    },
)

TRANSDUCTION = Experiment(
    name="transduction",
    title="Clusters of the training rows against clusters of all rows",
    published=published.NOT_IN_PAPER,
    sources=tuple(replace(source, duration="30 minutes") for source in SPLICE.sources),
    methods=tuple(
        Method(f"{family}, {kind}", family, grid, {"p": 4 / 3}, transductive=kind == "transductive")
        for family, grid in (
            ("HLMKL", {"C": COSTS}),
            ("CLMKL", {"C": COSTS, "evenness": falling(0.4, 0.8)}),
        )
        for kind in ("inductive", "transductive")
    ),
    axis="training size",
    points=SPLICE.points,
    repetitions=50,
    metric="AUC",
    reference="CLMKL, inductive",
    figure=tuple(
        f"{family}, {kind}" for family in ("HLMKL", "CLMKL") for kind in ("inductive", "transductive")
    ),
    protocol=SPLICE.protocol.replace(
        "Clusters are learned on the training rows.",
        "Inductive clusters are learned on the training rows, transductive ones on all 1000, labels "
        "unseen; p = 4/3.",
    ),
    quick=SPLICE.quick,
)

GATE_KERNELS = Experiment(
    name="gates",
    title="Clusters in the mean of all kernels against clusters in one of them",
    published=published.NOT_IN_PAPER,
    sources=tuple(replace(source, duration="30 minutes") for source in SPLICE.sources),
    methods=tuple(
        Method(
            f"CLMKL, gate {name}",
            "CLMKL",
            {"C": COSTS, "evenness": falling(0.4, 0.8)},
            {"p": 4 / 3, "gate_kernel": index},
        )
        for name, index in (("mean", None), ("degree 1", 0), ("degree 5", 4), ("degree 20", 19))
    ),
    axis="training size",
    points=SPLICE.points,
    repetitions=50,
    metric="AUC",
    reference="CLMKL, gate mean",
    figure=tuple(f"CLMKL, gate {name}" for name in ("mean", "degree 1", "degree 5", "degree 20")),
    protocol=SPLICE.protocol + " p = 4/3; the gate kernel is the mean of all kernels, or one of them.",
    quick=SPLICE.quick,
)

GROUP_COSTS = (0.3, 1.0, 3.0, 10.0, 30.0)
SHARES = (0.5, 0.25, 0.75, 0.0, 1.0)
HUMAN_FILES = tuple(f"human_tata_{part}" for part in ("train", "dev", "test"))
ORGANISMS = Experiment(
    name="organisms",
    title="Promoters of several organisms: one model, several, or groups with a shared part",
    published=published.NOT_IN_PAPER,
    sources=(
        Source(
            "three",
            "TATA promoters of human, mouse and Arabidopsis, 600 of each, and as many other sequences",
            "same source",
            partial(organisms.load_organisms, "human", "mouse", "arabidopsis"),
            "30 minutes",
            (*HUMAN_FILES, "mouse_epd", "mouse_rest", *organisms.ARABIDOPSIS),
        ),
        Source(
            "two",
            "TATA promoters of human and mouse, 600 of each, and as many other sequences; 251 letters",
            "same source",
            partial(organisms.load_organisms, "human", "mouse"),
            "20 minutes",
            (*HUMAN_FILES, "mouse_epd", "mouse_rest"),
        ),
    ),
    methods=(
        Method("one MKL for all", "HLMKL", {"C": GROUP_COSTS}, {"shared": 1.0}),
        Method("one MKL for each", "MKL", {"C": GROUP_COSTS}),
        Method("groups, nothing shared", "HLMKL", {"C": GROUP_COSTS}, {"shared": 0.0}),
        Method("groups, half shared", "HLMKL", {"C": GROUP_COSTS}, {"shared": 0.5}),
        Method("groups, share chosen", "HLMKL", {"C": GROUP_COSTS, "shared": SHARES}),
    ),
    axis="training size",
    points=(60, 120, 240, 480, 960),
    repetitions=20,
    metric="AUC",
    reference="groups, share chosen",
    folds=5,
    figure=("one MKL for all", "one MKL for each", "groups, share chosen"),
    protocol="Training rows are drawn anew for every repetition, equally from organisms and classes; all "
    "others are for testing. The score is the mean over organisms of the AUC within an organism. C and the "
    "share are chosen by five folds of the training rows, stratified by organism and class: of the "
    "candidates within one standard error of the best, that with the share nearest to one half. p = 4/3, "
    "twelve kernels.",
    quick={
        "sources": (
            Source("quick", "160 shipped splice sites of two kinds", "stand-in", organisms.load_quick, ""),
        ),
        "points": (40, 80),
        "repetitions": 2,
        "folds": 2,
    },
)

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
        ),
        Source(
            "promoter",
            "53,066 human sequences of 70 letters, half of them core promoters without a TATA box",
            "same source",
            partial(scale.load_sequences, scale.fetch_promoters, 10000),
            "one hour",
            tuple(f"human_notata_core_{part}" for part in ("train", "dev", "test")),
            most=40000,
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
            Source("quick", "300 shipped splice junctions, three kernels", "stand-in", scale.load_quick, ""),
        ),
        "points": (60, 150),
        "repetitions": 2,
    },
)

WAY_NAMES = {"rescale": "rescale", "zero": "zero", "complete": "complete only", "mean": "means"}
INCOMPLETE_FAMILIES = ("UNIF", "MKL", "CLMKL")
LOCAL_GRID = {"p": (1.0, 2.0), "evenness": (1.0, 0.5)}
"""An evenness of 1 makes CLMKL the same as MKL: folds may choose that there is no locality."""


def incomplete_methods(costs, linear_costs, ways, linear_ways):
    """Return UNIF, MKL, CLMKL and logistic regression, each with missing views dealt with in several ways."""
    kept = {"UNIF": (), "MKL": ("p",), "CLMKL": ("p", "evenness")}
    grids = {family: {"C": costs, **{name: LOCAL_GRID[name] for name in kept[family]}} for family in kept}
    methods = [
        Method(f"{family}, {WAY_NAMES[way]}", family, grid, {"way": way})
        for way in ways
        for family, grid in grids.items()
    ]
    linear = incomplete.LINEAR
    methods += [
        Method(f"{linear}, {WAY_NAMES[way]}", linear, {"C": linear_costs}, {"way": way})
        for way in linear_ways
    ]
    return tuple(methods)


def incomplete_pairs(ways, linear):
    """Return the differences that are asked about: rescale or zero, incomplete samples or not, locality."""
    by_way = [(f"{f}, rescale", f"{f}, {WAY_NAMES[w]}") for w in ways[1:] for f in INCOMPLETE_FAMILIES]
    others = ("UNIF, rescale", f"{incomplete.LINEAR}, {WAY_NAMES[linear]}")
    return (*by_way, ("CLMKL, rescale", "MKL, rescale"), *(("MKL, rescale", other) for other in others))


STORY_WAYS = ("rescale", "zero", "complete")
STORIES = Experiment(
    name="stories",
    title="News stories that not all newspapers have",
    published=published.NOT_IN_PAPER,
    sources=(
        Source(
            "3sources",
            "416 stories of three newspapers in counts of words, six topics; 169 in all three, 194 in two, "
            "53 in one",
            "original",
            incomplete.load_stories,
            "30 minutes",
            incomplete.STORY_FILES,
        ),
    ),
    methods=incomplete_methods(
        (1.0, 10.0, 100.0), (1.0, 10.0, 100.0, 1000.0), STORY_WAYS, ("zero", "complete")
    ),
    axis="data",
    points=("all",),
    repetitions=25,
    metric="accuracy",
    reference="MKL, rescale",
    folds=5,
    also={
        "accuracy_3": "accuracy on stories of three newspapers",
        "accuracy_2": "accuracy on stories of two newspapers",
        "accuracy_1": "accuracy on stories of one newspaper",
    },
    figure=(
        *(f"MKL, {WAY_NAMES[way]}" for way in STORY_WAYS),
        *(
            "UNIF, rescale",
            "CLMKL, rescale",
            "logistic regression, zero",
            "logistic regression, complete only",
        ),
    ),
    pairs=incomplete_pairs(STORY_WAYS, "zero"),
    protocol="A repetition is one of five outer folds, stratified by topic and drawn five times; all methods "
    "share them and are asked for all their test stories. Parameters are chosen by the accuracy in five "
    "inner folds. A kernel for each newspaper, the cosine of tf-idf learned on the training stories of "
    "each fold; three clusters. Complete only: trained on the stories that all three newspapers have (the "
    "other test stories are predicted by rescaling what there is of them). Logistic regression reads tf-idf "
    "of all columns side by side, zeros where a newspaper lacks the story.",
    quick={
        "sources": (
            Source(
                "quick", "60 generated stories, two views", "generated", incomplete.load_quick_stories, ""
            ),
        ),
        "repetitions": 3,
        "folds": 2,
    },
)

OMICS_WAYS = ("rescale", "zero", "complete", "mean")
OMICS_WHAT = "351 people of ROSMAP, with Alzheimer's disease or without, 200 columns of each of three omics"
OMICS = Experiment(
    name="omics",
    title="Omics of which views are dropped at random",
    published=published.NOT_IN_PAPER,
    sources=(
        Source(
            "published",
            f"{OMICS_WHAT}; 245 for training and 106 for testing, as published",
            "original",
            incomplete.load_omics,
            "30 minutes",
            incomplete.OMICS_FILES,
        ),
        Source(
            "redrawn",
            f"{OMICS_WHAT}; other splits in these numbers",
            "same source",
            partial(incomplete.load_omics, redrawn=True),
            "30 minutes",
            incomplete.OMICS_FILES,
        ),
    ),
    methods=incomplete_methods(
        (0.01, 0.3, 10.0), (1e-4, 1e-3, 1e-2, 0.1, 1.0), OMICS_WAYS, ("mean", "complete")
    ),
    axis="percent of samples that lack views",
    points=(0, 15, 30, 45, 60),
    repetitions=10,
    metric="AUC",
    reference="MKL, rescale",
    folds=5,
    figure=(
        *(f"MKL, {WAY_NAMES[way]}" for way in OMICS_WAYS),
        *("UNIF, rescale", "CLMKL, rescale", "logistic regression, means"),
    ),
    also={"accuracy": "accuracy"},
    pairs=incomplete_pairs(OMICS_WAYS, "mean"),
    protocol="So many percent of the training samples, and as many of the test samples, lose one or two of "
    "the three views, drawn anew for every repetition; a larger share contains a smaller one, and all "
    "methods share them. Parameters are chosen by the AUC in five inner folds; a line and a Gaussian on "
    "standardised columns for each view, three clusters. Complete only: trained on the samples that lost "
    "nothing (the other test samples are predicted by rescaling what there is of them). Means: column means "
    "of the training rows in place of what is missing. The 200 columns of each view were chosen beforehand, "
    "by those who published them: on other splits than theirs scores may be too high, of all methods alike.",
    quick={
        "sources": (
            Source(
                "quick", "120 generated rows in three views", "generated", incomplete.load_quick_omics, ""
            ),
        ),
        "points": (0, 40),
        "repetitions": 2,
        "folds": 2,
    },
)

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        *(SPLICE, TSS, PROTEIN, IMAGES, TIME, LOCALIZED, TRANSDUCTION, GATE_KERNELS),
        *(ORGANISMS, SCALE, STORIES, OMICS),
    )
}
