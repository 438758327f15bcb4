"""Check the links within a built site: ``python docs/check_links.py docs/_build/html``.

Sphinx's own ``linkcheck`` asks the network and leaves links within the site unchecked.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Note links, images and places."""
        found = dict(attributes)
        self.places |= {found[key] for key in ("id", "name") if found.get(key)}
        self.links += [found[key] for key in ("href", "src") if found.get(key)]


def broken(root):
    """Yield (page, link) of every link within the site that leads nowhere."""
    pages = {path: Page(path) for path in root.rglob("*.html") if "_static" not in path.parts}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.exists() or (target in pages and place not in pages[target].places):
                yield path.relative_to(root), link


if __name__ == "__main__":
    found = sorted(set(broken(Path(sys.argv[1]).resolve())))
    for page, link in found:
        print(f"{page}: {link} leads nowhere")
    sys.exit(bool(found))
