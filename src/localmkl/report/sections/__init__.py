"""The sections of the page, in the order that readers need them; those that say nothing are absent."""

from collections.abc import Sequence
from typing import Any

from localmkl.report.markup import Html, Section
from localmkl.report.sections.by_group import by_group
from localmkl.report.sections.decided import decided, page_data
from localmkl.report.sections.discovered import discovered
from localmkl.report.sections.how_good import how_good
from localmkl.report.sections.how_made import how_made
from localmkl.report.sections.used_rows import used_rows
from localmkl.report.sections.what_matters import what_matters

__all__ = ["page_data", "sections_of"]


def sections_of(subject: Any, sequences: Sequence[Html] = ()) -> list[Section]:
    """Return the sections that have something to say about a model, with figures of its sequences."""
    found = [
        how_good(subject),
        by_group(subject),
        what_matters(subject, sequences),
        discovered(subject),
        decided(subject),
        used_rows(subject),
        how_made(subject),
    ]
    return [section for section in found if section is not None]
