"""Pieces of the page as markup; every text that is not `Html` is escaped."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

VOID = frozenset(("input", "br"))
"""Elements without an end."""


class Html(str):
    """Markup that is inserted as it is."""


def tag(element: str, *children: Any, **attributes: Any) -> Html:
    """Return an element; texts among its children and attributes are escaped, None is left out.

    Examples
    --------
    >>> tag("p", "a < b", tag("b", 1), class_="soft", data_row=3)
    '<p class="soft" data-row="3">a &lt; b<b>1</b></p>'
    """
    shown = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if element in VOID:
        return Html(f"<{element}{shown}>")
    inside = joined(children)
    return Html(f"<{element}{shown}>{inside}</{element}>")


def joined(children: Iterable[Any]) -> Html:
    """Return markup and escaped texts as one piece."""
    pieces: list[Html] = []
    for child in children:
        if isinstance(child, list | tuple):
            pieces.append(joined(child))
        elif child is not None:
            pieces.append(child if isinstance(child, Html) else Html(escape(str(child))))
    return Html("".join(pieces))


@dataclass(frozen=True)
class Section:
    """A section of the page: a key for links, a title, and its parts."""

    key: str
    title: str
    parts: Sequence[Any]
    folded: bool = False

    def html(self) -> Html:
        """Return the section as markup."""
        heading = tag("h2", self.title, id=f"title-{self.key}")
        parts = [tag("p", part) if type(part) is str else part for part in self.parts]
        if self.folded:
            parts = [tag("details", tag("summary", "Show"), *parts)]
        return tag("section", heading, *parts, id=self.key, aria_labelledby=f"title-{self.key}")


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str | None = None) -> Html:
    """Return a table that scrolls inside its box; the first cell of a row names it."""
    body = [tag("tr", tag("th", row[0], scope="row"), [tag("td", cell) for cell in row[1:]]) for row in rows]
    top = tag("thead", tag("tr", [tag("th", name, scope="col") for name in head]))
    inside = tag("table", top, tag("tbody", body))
    box = tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label=caption or "Table")
    return joined([tag("p", caption, class_="caption") if caption else None, box])


def folded(title: str, *parts: Any) -> Html:
    """Return parts that open on a click."""
    return tag("details", tag("summary", title), *parts)


def figure(title: str, text: Any, drawing: Html, numbers: Html | None = None, key: str | None = None) -> Html:
    """Return a drawing with its title and the sentence under it, and its numbers on a click."""
    return tag(
        "figure",
        tag("h3", title),
        drawing,
        tag("figcaption", text),
        folded("The numbers", numbers) if numbers else None,
        id=key,
    )


def beside(*figures: Any) -> Html:
    """Return figures beside each other where the page is wide enough."""
    return tag("div", *figures, class_="beside")


def as_json(data: Any) -> Html:
    """Return data as a script element that no text inside can end."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return Html(
        f'<script type="application/json" id="numbers">{text.replace("<", chr(92) + "u003c")}</script>'
    )
