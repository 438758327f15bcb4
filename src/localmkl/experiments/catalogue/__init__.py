"""Every table and figure of the paper as data, and what we asked beyond it: `EXPERIMENTS`, by name."""

from localmkl.experiments.catalogue.generated import LOCALIZED
from localmkl.experiments.catalogue.images import IMAGES
from localmkl.experiments.catalogue.incomplete import OMICS, STORIES
from localmkl.experiments.catalogue.organisms import ORGANISMS
from localmkl.experiments.catalogue.proteins import PROTEIN
from localmkl.experiments.catalogue.scale import SCALE
from localmkl.experiments.catalogue.sites import GATE_KERNELS, SPLICE, TIME, TSS
from localmkl.experiments.catalogue.transduction import TRANSDUCTION, TRANSDUCTION_CLASSES, UNLABELLED

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        *(SPLICE, TSS, PROTEIN, IMAGES, TIME, LOCALIZED, TRANSDUCTION, TRANSDUCTION_CLASSES, UNLABELLED),
        *(GATE_KERNELS, ORGANISMS, SCALE, STORIES, OMICS),
    )
}
