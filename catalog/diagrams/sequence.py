"""A trace as a sequence diagram in SVG: a lane for each actor, a line with an arrow for each event. No style attributes
(content policy): colours are `currentColor` and classes; a standalone file has both themes."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from catalog.diagrams.lettering import arrow, letters, lines_of

LANE, MARGIN, LINE, PAD = 92, 20, 18, 12
HEAD = 58
TEXT_COLUMNS = 78
TEXT_WIDTH = 600
TITLE_COLUMNS = 110

SHEET = """\
<style>
svg.trace { color: #1c2330; background: #ffffff; }
svg.trace .wrong { color: #b3261e; }
svg.trace .quiet { opacity: 0.45; }
@media (prefers-color-scheme: dark) {
svg.trace { color: #e6e9f0; background: #14171f; }
svg.trace .wrong { color: #ff8a80; }
}
</style>"""


@dataclass(frozen=True, slots=True)
class Event:
    """One line: actor, id, words; arrow from lane to lane (none: a dot)."""

    actor: str
    id: str
    sentence: str
    to: str = ""
    is_refused: bool = False


def draw(title: str, lanes: Sequence[str], events: Sequence[Event], wrong: Sequence[str], *, alone: bool) -> str:
    """The diagram. `wrong`: what is broken at the end; `alone`: with a style sheet."""
    drawing = _Drawing(list(lanes), alone=alone)
    drawing.title(title)
    for number, event in enumerate(events, 1):
        drawing.event(number, event)
    for why in wrong:
        drawing.wrong(why)
    return drawing.text()


class _Drawing:
    """Grows downwards; lanes are drawn last."""

    def __init__(self, lanes: list[str], *, alone: bool) -> None:
        self.lanes, self.alone = lanes, alone
        self.at = {name: MARGIN + LANE // 2 + LANE * number for number, name in enumerate(lanes)}
        self.text_at = MARGIN + LANE * len(lanes) + PAD
        self.width = self.text_at + TEXT_WIDTH + MARGIN
        self.top = self.y = HEAD
        self.parts: list[str] = []
        self.name = ""

    def title(self, title: str) -> None:
        self.name = title
        lines = lines_of(title, TITLE_COLUMNS)
        for number, line in enumerate(lines):
            self.parts.append(letters(MARGIN, 24 + LINE * number, line, "title", bold=True))
        self.top = self.y = HEAD + LINE * (len(lines) - 1)

    def event(self, number: int, event: Event) -> None:
        lines = lines_of(event.sentence, TEXT_COLUMNS) or [""]
        middle = self.y + LINE * len(lines) / 2 + PAD / 2
        body = [f"<title>{escape(event.id)}</title>", self._arrow(event, middle)]
        first = self.y + LINE + PAD / 2 - 4
        body.append(letters(self.text_at, first, f"{number}", "number quiet"))
        body += [letters(self.text_at + 30, first + LINE * at, line, "sentence") for at, line in enumerate(lines)]
        self.parts.append(f'<g class="event" data-step={quoteattr(event.id)}>{"".join(body)}</g>')
        self.y += LINE * len(lines) + PAD

    def _arrow(self, event: Event, y: float) -> str:
        begin = self.at[event.actor]
        if event.is_refused:
            return letters(begin, y + 4, "✗", "wrong", middle=True)
        return arrow(begin, self.at.get(event.to), y)

    def wrong(self, why: str) -> None:
        lines = lines_of(f"✗ {why}", TEXT_COLUMNS)
        first = self.y + LINE + PAD / 2
        body = [letters(self.text_at, first + LINE * at, line, "", bold=True) for at, line in enumerate(lines)]
        self.parts.append(f'<g class="wrong">{"".join(body)}</g>')
        self.y += LINE * len(lines) + PAD

    def text(self) -> str:
        height = self.y + MARGIN
        heads = [letters(x, self.top - 12, name, "lane", middle=True, bold=True) for name, x in self.at.items()]
        lines = [
            f'<path class="quiet" d="M{x} {self.top - 4}V{self.y}" stroke="currentColor" stroke-dasharray="2 4"/>'
            for x in self.at.values()
        ]
        opening = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="trace" role="img" viewBox="0 0 {self.width} {height:g}" '
            f'width="{self.width}" height="{height:g}" font-family="system-ui, sans-serif" font-size="14">'
        )
        sheet = [SHEET] if self.alone else []
        name = f"<title>{escape(self.name)}</title>"
        return "\n".join([opening, name, *sheet, *lines, *heads, *self.parts, "</svg>", ""])
