"""Check the English of the documentation: length of sentences, forbidden words, commit hashes in prose.

``python docs/check_words.py`` prints a table of all pages, and fails where a first page breaks a rule.
Files can be named instead: then only their table is printed.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIRST = [
    "README.md",
    *(f"docs/{page}.rst" for page in ("index", "getting_started", "first_hour", "choosing")),
]
LONGEST = 22
FORBIDDEN = (
    r"evenness = --",
    r"\bfalse alarms?\b",
    r"\bhits?\b",
    r"\basked\b",
    r"\bsaid\b",
    r"\btold\b",
    r"\bunfelt\b",
    r"\bbeside\b",
    r"\bby itself\b",
    r"\ban own\b",
    r"\bthat of\b(?= the (?:page|model))",
    r"\breads noise\b",
    r"(?:^|[.:] )(?:UNIF|MKL|HLMKL|CLMKL|LMKL) (?:is|has|was|wins|loses|leads|gains)\b",
    r"\bof \d+ weights, \d+ are sure\b",
    r"\bclusters that (?:have|are) to be found\b",
)
COMMIT = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
CODE = re.compile(
    r"^(?:```.*?^```$|\.\. (?:code-block|math|raw|toctree|literalinclude|image|include)::.*?(?=^\S|\Z))",
    re.M | re.S,
)


def prose(text):
    """Return the paragraphs, items and cells of a page, without code, formulas and markup."""
    text = re.sub(r"<!--.*?-->", "", CODE.sub("\n\n", text), flags=re.S)
    text = re.sub(
        r"^(?:>>> |\.\.\. ).*(?:\n(?!\n|>>> |\.\.\. ).*)*", "", text, flags=re.M
    )  # sessions of Python
    text = re.sub(r"^(?: {4}\S.*|\.\. .*|:\w+:.*|[=~\-^.+| ]{3,}|\|[ \-|:]+\|)$", "", text, flags=re.M)
    text = re.sub(r":(\w+:)?`~?([^`<]*?)(?: ?<[^`>]*>)?`", r"\2", text)  # roles
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)  # links
    text = re.sub(r"`+([^`]*)`+_{0,2}", r"\1", text).replace("**", "")
    pieces = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.|#+|\* -) |\s\|\s|^\||\|$|^ +- ", text, flags=re.M)
    return [" ".join(piece.split()) for piece in pieces if piece and piece.strip()]


def sentences(text):
    """Return the sentences of a page: those that end with a mark, from four words on."""
    found = []
    for piece in prose(text):
        parts = re.split(r"(?<=[.!?])\s+(?=[A-Z*(`0-9])", piece)
        found += [part for part in parts if len(part.split()) >= 4 and re.search(r"[.!?][)*\"]*$", part)]
    return found


def look(path):
    """Return the number of sentences, their mean length, how many are long, and what is forbidden."""
    text = path.read_text(encoding="utf-8")
    lengths = [len(sentence.split()) for sentence in sentences(text)]
    pieces = prose(text)
    wrong = [
        found[0].strip()
        for words in FORBIDDEN
        for piece in pieces
        for found in re.finditer(words, piece, re.I)
    ]
    wrong += [found for piece in pieces for found in COMMIT.findall(piece)]
    mean = sum(lengths) / max(len(lengths), 1)
    return len(lengths), mean, sum(length > 40 for length in lengths), wrong


def main(names):
    """Print the table; return whether a first page breaks a rule."""
    others = (
        []
        if names
        else sorted(
            p for p in ROOT.glob("docs/*.*") if p.suffix in (".rst", ".md") and not p.stem.startswith("sg_")
        )
    )
    pages = [Path(name) for name in names] or [ROOT / name for name in FIRST]
    failed = False
    print(f"{'page':28} sentences  words each  above 40  not allowed")
    for path in [*pages, *(page for page in others if page not in pages)]:
        count, mean, long, wrong = look(path)
        bad = path in pages and (mean > LONGEST or bool(wrong))
        failed |= bad
        shown = ", ".join(wrong) if path in pages else str(len(wrong))
        print(f"{path.name:28} {count:9d}  {mean:10.1f}  {long:8d}  {shown}{'   <- mend' if bad else ''}")
    return failed and not names


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
