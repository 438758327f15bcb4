"""Promoters of several organisms: known groups with a shared part."""

from functools import partial

from localmkl.experiments import organisms, published
from localmkl.experiments.protocol import Experiment, Method, Source

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
    "twelve kernels; C as the estimators scale it by default.",
    quick={
        "sources": (
            Source("quick", "160 shipped splice sites of two kinds", "stand-in", organisms.load_quick, ""),
        ),
        "points": (40, 80),
        "repetitions": 2,
        "folds": 2,
    },
)
