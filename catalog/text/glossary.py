"""Links words of the glossary (docs/reference/glossary.md) in HTML, each where it first stands."""

import re
from collections.abc import Callable, Collection, Mapping

ROW = re.compile(r"^\| (.+?) \| (.+) \| .+ \|$", re.MULTILINE)

FORMS: Mapping[str, str] = {
    "absent": "absent",
    "clause": "clause|clauses",
    "delete-only": "delete-only",
    "descriptor": "descriptor|descriptors",
    "drained": "drained|drain|drains",
    "element": "element|elements",
    "entry": "entry|entries",
    "fence": "fence|fences",
    "fill": "fill|fills|filled|backfill",
    "incarnation": "incarnation|incarnations",
    "lease": "lease|leases|leased",
    "loader": "loader|loaders",
    "pair": "pair|pairs",
    "public": "public",
    "publish": "publish|publishes|published",
    "reorganisation": "reorganisation|reorganisations|reorganising",
    "tombstone": "tombstone|tombstones",
    "version": "version|versions",
    "write-only": "write-only",
}
"""The words that pages explain, each with the forms in which it is found: the first is its name. The forms in another
language are the translation of these."""

COMMON_WORDS = frozenset({"absent"})
"""Words that texts mostly use in their plain meaning: explained only where a page says so."""

TAG = re.compile(r"(<[^>]*>)")
LEFT_ALONE = ("a", "button", "code", "kbd", "label", "pre", "select", "summary", "svg", "textarea", "h1")
"""Parts that are pressed, typed or quoted, and the title of a page."""
OPENED = re.compile(rf"<(/?)({'|'.join(LEFT_ALONE)})\b")

Link = Callable[[str, str], str]
"""From a term and its form in the text to the replacement."""


def definitions(page: str) -> dict[str, str]:
    return dict(ROW.findall(page)[1:])


def finder(forms: Mapping[str, str]) -> re.Pattern[str]:
    """Finds a form of a term; a group's place is the term's among `forms`. Chinese has no gaps between words."""
    every = (f"({'|'.join(map(_as_word, sorted(text.split('|'), key=len, reverse=True)))})" for text in forms.values())
    return re.compile("|".join(every), re.IGNORECASE)


def _as_word(form: str) -> str:
    return rf"(?<![\w-]){re.escape(form)}(?![\w-])" if form.isascii() else re.escape(form)


def linked(html: str, forms: Mapping[str, str], link: Link, only: Collection[str] = ()) -> str:
    wanted = {term: text for term, text in forms.items() if (term in only if only else term not in COMMON_WORDS)}
    terms, pattern, left = [*wanted], finder(wanted), set(wanted)

    def replaced(found: re.Match[str]) -> str:
        term = terms[(found.lastindex or 1) - 1]
        if term not in left:
            return found[0]
        left.discard(term)
        return link(term, found[0])

    depth, pieces = 0, TAG.split(html)
    for place, piece in enumerate(pieces):
        if piece.startswith("<"):
            opened = OPENED.match(piece)
            depth += 0 if opened is None or piece.endswith("/>") else -1 if opened[1] else 1
        elif not depth and left:
            pieces[place] = pattern.sub(replaced, piece)
    return "".join(pieces)
