"""Letters in a drawing, and line breaks in English and Chinese: a Chinese character is two columns wide, and a line may
end after any, but not before a comma."""

import re
from textwrap import wrap
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

STAYS = "，。；：、！？”）》"
"""Never the first character of a line."""
PIECE = re.compile(rf"[^\x00-\u2e7f][{STAYS}]*|[\x00-\u2e7f]+?(?:\s+|(?=[^\x00-\u2e7f])|$)[{STAYS}]*")


def letters(x: float, y: float, words: str, name: str = "", *, middle: bool = False, bold: bool = False) -> str:
    attributes = [f'x="{x:g}"', f'y="{y:g}"', 'fill="currentColor"']
    attributes += [f'class="{name}"'] if name else []
    attributes += ['text-anchor="middle"'] if middle else []
    attributes += ['font-weight="600"'] if bold else []
    return f"<text {' '.join(attributes)}>{escape(words)}</text>"


def arrow(begin: float, end: float | None, y: float) -> str:
    """A dot, and an arrow to `end` if given."""
    dot = f'<circle cx="{begin:g}" cy="{y:g}" r="4" fill="currentColor"/>'
    if end is None:
        return dot
    neck = end - (7 if end > begin else -7)
    line = f'<path d="M{begin:g} {y:g}H{neck:g}" stroke="currentColor" stroke-width="1.5" fill="none"/>'
    return dot + line + f'<path d="M{neck:g} {y - 4:g}L{end:g} {y:g}L{neck:g} {y + 4:g}z" fill="currentColor"/>'


def width_of(words: str) -> int:
    """The width in columns: a wide character has two."""
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in words)


def lines_of(words: str, columns: int) -> list[str]:
    """Words in lines of at most so many columns, where single pieces allow."""
    if width_of(words) == len(words):
        return wrap(words, columns)
    lines = [""]
    for piece in PIECE.findall(words):
        if lines[-1] and width_of(lines[-1]) + width_of(piece.rstrip()) > columns:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return [line.rstrip() for line in lines if line]
