"""The sections of the page, one file each: rows of data, a figure, and sentences computed from the data.

Each function returns a `Section`, None where there is no data for it.
"""

from altair.utils.schemapi import debug_mode

from localmkl.report.certainty import Certainty
from localmkl.report.prose import PlainRows, Section
from localmkl.report.quality import TRAINING, Quality
from localmkl.report.sections.bound import bound_section
from localmkl.report.sections.certainty import certainty_section, verdict_text
from localmkl.report.sections.convergence import convergence_section
from localmkl.report.sections.memberships import memberships_section
from localmkl.report.sections.positions import positions_section
from localmkl.report.sections.provenance import provenance_section
from localmkl.report.sections.quality import lead_text, quality_section
from localmkl.report.sections.sample_map import map_section
from localmkl.report.sections.samples import samples_section
from localmkl.report.sections.training import training_section
from localmkl.report.sections.tuning import tuning_section
from localmkl.report.sections.views import views_section
from localmkl.report.sections.weights import weights_section, weights_text
from localmkl.report.subject import Subject


def all_sections(
    subject: Subject, found: Quality | None, seconds: float | None = None, certainty: Certainty | None = None
) -> tuple[list[Section], PlainRows]:
    """Return the sections in the order of the page, and the ways to colour the map."""
    with debug_mode(False):  # or Altair checks every part of every chart, which the tests do once
        the_map, modes = map_section(subject)
        parts = [
            training_section(subject, seconds),
            quality_section(subject, found),
            views_section(subject, found),
            the_map,
            weights_section(subject, certainty),
            memberships_section(subject),
            certainty_section(subject, certainty),
            positions_section(subject),
            samples_section(subject),
            tuning_section(subject),
            convergence_section(subject),
            bound_section(subject),
            provenance_section(subject),
        ]
    return [part for part in parts if part is not None], modes


def lead_sentences(subject: Subject, found: Quality | None, certainty: Certainty | None = None) -> list[str]:
    """Return the sentences at the top: quality where it was measured, weights, and how sure they are."""
    said = [weights_text(subject.shares.mean(axis=0), subject.kernels, subject.spoken)]
    sure = verdict_text(subject, certainty)
    said += [sure] if sure else []
    if found is not None and found.kind != TRAINING:
        said.insert(0, lead_text(found))
    return [subject.unfinished, *said] if subject.unfinished else said
