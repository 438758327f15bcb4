"""Samples that lack views: news stories and omics."""

from functools import partial

from localmkl.experiments import incomplete, published
from localmkl.experiments.protocol import Experiment, Method, Source

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
    "of all columns side by side, zeros where a newspaper lacks the story. C as the estimators scale it by "
    "default.",
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
            resampled=False,
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
    "by those who published them: on other splits than theirs scores may be too high, of all methods alike. "
    "C as the estimators scale it by default.",
    quick={
        "sources": (
            Source(
                "quick",
                "120 generated rows in three views",
                "generated",
                incomplete.load_quick_omics,
                "",
                resampled=False,
            ),
        ),
        "points": (0, 40),
        "repetitions": 2,
        "folds": 2,
    },
)
