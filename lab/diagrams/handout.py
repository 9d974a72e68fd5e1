"""The picture of a handout: versions, steps, store and verdicts of a session, for paper in black and white. It takes
the colour of the text around, and is as wide as a sheet of A4 at 0.25 mm a unit; the narrow one as a phone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from catalog.diagrams.lettering import arrow, letters, lines_of
from catalog.text.message import STATES, Text, Values
from lab.explorer.lanes import CATALOG, EXECUTOR, FILL, STORE
from lab.sessions.handbooks import OFFICE, TABLE
from lab.sessions.severity import CLAUSE_NAMES
from lab.sessions.shown import Element, Pair, SessionView, Severity, TraceLine, Version

Say = Callable[[Text], str]

WIDTH, LANE, LINE, PAD, SIZE = 720, 66, 16, 9, 12
NARROW = 340
NUMBER = 26
COLUMN = 7
"""The width of a letter of `SIZE`, in units."""
BOLD = 1.2
ON_A_LINE = 4

LANES: Mapping[str, Text] = {
    EXECUTOR: Text("publisher"),
    FILL: Text("fill"),
    CATALOG: Text("versions"),
    STORE: Text("store"),
    OFFICE: Text("office"),
    "network": Text("network"),
    "time": Text("time"),
    "deploys": Text("deploys"),
    "backfill": Text("backfill"),
}
CLAUSES: Mapping[str, Text] = {
    **CLAUSE_NAMES,
    "lost message": Text("lost message"),
    "two editions": Text("too many editions"),
    "fails": Text("fails"),
    "refused": Text("refused"),
    "lost": Text("lost"),
    "invented": Text("invented"),
}
MARKS = {Severity.HOLDS: "", Severity.DANGER: "△", Severity.DAMAGE: "✗"}

HATCHES = """\
<defs>
<pattern id="{prefix}delete-only" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6L6 0" stroke="currentColor"/></pattern>
<pattern id="{prefix}write-only" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6L6 0M0 0L6 6" stroke="currentColor"/></pattern>
</defs>"""  # noqa: E501
HATCHED = ("delete-only", "write-only")
"""The states with a pattern; absent is empty, and the rest is solid."""


def picture_of_session(shown: SessionView, title: str, say: Say = str, *, is_narrow: bool = False) -> str:
    """`say` words the texts; `title` is its name for screen readers."""
    drawing = _NarrowDrawing(shown, say) if is_narrow else _Drawing(shown, say)
    for part in (drawing.versions, drawing.trace, drawing.store, drawing.verdicts):
        drawing.parts += part()
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="handout-picture{" narrow" * is_narrow}" role="img" '
        f'viewBox="0 0 {drawing.width} {drawing.y:g}" font-family="system-ui, sans-serif" font-size="{SIZE}">'
    )
    hatches = HATCHES.format(prefix=drawing.prefix)
    return "\n".join([opening, f"<title>{escape(title)}</title>", hatches, *drawing.parts, "</svg>", ""])


class _Drawing:
    """Grows downwards: `y` is the lower edge of the drawing so far, `lower` that of the last box."""

    width, on_a_line, prefix = WIDTH, ON_A_LINE, ""
    column: float = COLUMN

    def __init__(self, shown: SessionView, say: Say) -> None:
        self.shown, self.say = shown, say
        self.y = self.lower = 0.0
        self.parts: list[str] = []

    # versions

    def versions(self) -> Iterator[str]:
        versions = [one for one in self.shown.cluster.versions if one.is_in_force or one.is_newest or one.elements]
        for at in range(0, len(versions), self.on_a_line):
            beside = versions[at : at + self.on_a_line]
            ends = []
            for number, version in enumerate(beside):
                column = list(self._version(version, self.width / self.on_a_line * number))
                ends.append(len(version.elements))
                yield f'<g class="version" data-version="{version.number}">{"".join(column)}</g>'
            self.y += 2 * LINE + (LINE + 4) * max(ends) + PAD

    def _version(self, version: Version, x: float) -> Iterator[str]:
        named = (
            self.say(Text("edition {number}", {"number": version.number}))
            if version.table == TABLE
            else f"v{version.number}"
        )
        yield letters(x, self.y + LINE - 3, named, bold=True)
        y = self.y + LINE
        for element in version.elements:
            yield self._element(element, x, y)
            y += LINE + 4
        users = [node.name for node in self.shown.cluster.nodes if self._uses(version, node.name)]
        yield letters(x, y + LINE - 4, ", ".join(users) or "–")

    def _uses(self, version: Version, name: str) -> bool:
        return any(
            lease.is_live and (lease.table, lease.version) == (version.table, version.number)
            for node in self.shown.cluster.nodes
            if node.name == name
            for lease in node.leases
        )

    def _element(self, element: Element, x: float, y: float) -> str:
        state = self.say(next(text for one, text in STATES.items() if one.value == element.state))
        is_absent = element.state == "absent"
        fill = self._hatch(element.state) if element.state in HATCHED else "none" if is_absent else "currentColor"
        dashes = ' stroke-dasharray="3 3"' if is_absent else ""
        box = f'<rect x="{x + 1:g}" y="{y + 1:g}" width="26" height="13" fill="{fill}" stroke="currentColor"{dashes}/>'
        return box + letters(x + 34, y + 12, f"{element.name}: {state}")

    def _hatch(self, state: str) -> str:
        return f"url(#{self.prefix}{state})"

    # steps

    def trace(self) -> Iterator[str]:
        lines, lanes = self.shown.trace, self._lanes()
        at = {lane: LANE / 2 + LANE * number for number, lane in enumerate(lanes)}
        begin = LANE * len(lanes) + PAD
        columns = int((self.width - begin - NUMBER) / self.column)
        self.y += PAD
        for lane, x in at.items():
            yield letters(x, self.y + LINE - 4, self._lane(lane), "lane", middle=True, bold=True)
        self.y += LINE
        top = self.y
        for number, line in enumerate(lines, 1):
            yield self._step(number, line, at, begin, columns)
        for x in at.values():
            yield f'<path d="M{x:g} {top:g}V{self.y:g}" stroke="currentColor" stroke-dasharray="1 4"/>'
        self.y += PAD

    def _lanes(self) -> list[str]:
        used = {lane for line in self.shown.trace for lane in (line.actor, line.to) if lane}
        nodes = {node.name for node in self.shown.cluster.nodes}
        known = [*self.shown.actors, CATALOG, STORE, *sorted(used)]
        return [lane for lane in dict.fromkeys(known) if lane in used or lane in nodes]

    def _lane(self, lane: str) -> str:
        return self.say(LANES[lane]) if lane in LANES else lane

    def _step(self, number: int, line: TraceLine, at: Mapping[str, float], begin: float, columns: int) -> str:
        mark = MARKS[line.severity]
        is_bold = line.severity is Severity.DAMAGE
        words = lines_of(self.say(line.text), int(columns / BOLD) if is_bold else columns) or [""]
        first = self.y + LINE - 2
        body = [arrow(at[line.actor], at.get(line.to), self.y + (LINE * len(words) + PAD) / 2 - 2)]
        body.append(letters(begin, first, f"{number}", bold=bool(mark)))
        body += [letters(begin - 9, first, mark, middle=True, bold=True)] if mark else []
        body += [letters(begin + NUMBER, first + LINE * row, one, bold=is_bold) for row, one in enumerate(words)]
        self.y += LINE * len(words) + PAD
        return f'<g class="event" data-step={quoteattr(line.id)}>{"".join(body)}</g>'

    # the store

    def store(self) -> Iterator[str]:
        pairs = self.shown.cluster.present
        places = sorted({(pair.table, pair.row, pair.is_new) for pair in pairs})
        many = len({pair.table for pair in pairs}) > 1
        for table, row, is_new in places:
            of_it = [pair for pair in pairs if (pair.table, pair.row, pair.is_new) == (table, row, is_new)]
            name = self.say(Text("row {row}", {"row": f"{table} {row}" if many else row}))
            yield self._row(name, of_it, self._where(is_new) if any(one.is_new for one in pairs) else "")
        self.y += PAD if places else 0

    def _where(self, is_new: bool) -> str:
        return self.say(Text("in the new place")) if is_new else self.say(Text("in the old place"))

    def _row(self, name: str, pairs: Sequence[Pair], where: str) -> str:
        is_there = any(pair.sort == "row" for pair in pairs)
        entries = [pair for pair in pairs if pair.sort == "entry"]
        body = [self._box(0, self._row_words(name, pairs, where), is_dashed=not is_there)]
        x, lower = self.width / 2, self.lower
        if not entries and is_there and self._lacks_an_entry():
            body.append(self._box(x, self.say(Text("no entry")), is_dashed=True))
        for pair in entries:
            body.append(self._entry(pair, x, is_there=is_there))
            self.y = self.lower
        self.y = max(self.y, lower)
        return f'<g class="row">{"".join(body)}</g>'

    def _row_words(self, name: str, pairs: Sequence[Pair], where: str) -> str:
        values = [f"{pair.key} = {pair.value}" for pair in pairs if pair.sort == "value"]
        words = ", ".join([name, *([where] if where else []), *values])
        is_there = any(pair.sort == "row" for pair in pairs)
        return words if is_there else self.say(Text("{row}: not there", {"row": words}))

    def _lacks_an_entry(self) -> bool:
        return any(verdict.clause == "C4" for verdict in self.shown.verdicts)

    def _entry_words(self, pair: Pair) -> str:
        return self.say(Text("tombstone {entry}", {"entry": pair.key})) if pair.is_tombstone else pair.key

    def _entry(self, pair: Pair, x: float, *, is_there: bool) -> str:
        box = self._box(x, self._entry_words(pair), is_hatched=pair.is_tombstone)
        if pair.is_tombstone:
            return box
        y, begin, end = self.y + LINE / 2, x - 6, x - 52
        if is_there:
            head = f"M{end + 7:g} {y - 4:g}L{end:g} {y:g}L{end + 7:g} {y + 4:g}z"
            line = f'<path d="M{begin:g} {y:g}H{end + 6:g}" stroke="currentColor"/>'
            return f'{box}{line}<path d="{head}" fill="currentColor"/>'
        broken = f'<path d="M{begin:g} {y:g}H{end + 12:g}" stroke="currentColor" stroke-dasharray="4 4"/>'
        return box + broken + letters(end, y + 5, "✗", middle=True, bold=True)

    def _box(self, x: float, words: str, *, is_dashed: bool = False, is_hatched: bool = False) -> str:
        dashes = ' stroke-dasharray="4 3"' if is_dashed else ""
        inset, width = 34 if is_hatched else 8, self._box_width(x)
        lines = lines_of(words, int((width - inset) / self.column))
        frame = (
            f'x="{x + 1:g}" y="{self.y:g}" height="{LINE * len(lines) + 4}" fill="none" stroke="currentColor"{dashes}'
        )
        hatch = (
            f'<rect x="{x + 1:g}" y="{self.y:g}" width="26" height="{LINE + 4}" fill="{self._hatch("delete-only")}"/>'
        )
        box = f'<rect {frame} width="{width:g}" rx="3"/>'
        text = (letters(x + inset, self.y + LINE * (at + 1) - 2, one) for at, one in enumerate(lines))
        self.lower = self.y + LINE * len(lines) + PAD
        return box + (hatch if is_hatched else "") + "".join(text)

    def _box_width(self, x: float) -> float:
        return self.width / 2 - 70

    # what is broken, and what readers find

    def verdicts(self) -> Iterator[str]:
        """A sentence for each broken clause, a refused step, and a query with two results. Editions have no version."""
        for verdict in self.shown.verdicts:
            is_damage = verdict.severity is Severity.DAMAGE
            clause: str | Text = CLAUSES.get(verdict.clause, verdict.clause)
            if verdict.clause in CLAUSE_NAMES and verdict.clause != "two versions":
                clause = Text("{clause} under {version}", {"clause": clause, "version": f"v{verdict.version}"})
            values: Values = {"clause": clause, "why": verdict.why}
            text = Text("Damage, {clause}: {why}", values) if is_damage else Text("Danger, {clause}: {why}", values)
            yield from self._sentence(f"{MARKS[verdict.severity]} {self.say(text)}", "harm", bold=is_damage)
        yield from self._refused()
        for probe in self.shown.probe:
            if probe.differs:
                found: Values = {"version": f"v{probe.version}", "query": probe.query}
                found |= {"by_table": self._found(probe.by_table), "by_index": self._found(probe.by_index or ())}
                text = Text("{version}, {query}: by table {by_table}, by index {by_index}", found)
                yield from self._sentence(self.say(text), "probe")

    def _refused(self) -> Iterator[str]:
        if self.shown.refused is not None:
            refused: Values = {"step": self.shown.refused.label, "why": self.shown.refused.why}
            text = Text("The next step is refused: {step} ({why})", refused)
            yield from self._sentence(f"{MARKS[Severity.DAMAGE]} {self.say(text)}", "refusal", bold=True)

    def _found(self, rows: Sequence[str]) -> str:
        return ", ".join(rows) or self.say(Text("nothing"))

    def _sentence(self, words: str, name: str, *, bold: bool = False) -> Iterator[str]:
        lines = lines_of(words, int(self.width / self.column / (BOLD if bold else 1)))
        body = [letters(0, self.y + LINE * (at + 1) - 3, one, bold=bold) for at, one in enumerate(lines)]
        self.y += LINE * len(lines) + 4
        yield f'<g class="{name}">{"".join(body)}</g>'


class _NarrowDrawing(_Drawing):
    """For a phone: the words of a step stand below its arrow, the entries of a row below it."""

    width, on_a_line, prefix = NARROW, 2, "narrow-"
    column = 7.5

    def trace(self) -> Iterator[str]:
        lanes = self._lanes()
        apart = min(LANE, self.width / len(lanes)) if lanes else LANE
        at = {lane: apart * (number + 0.5) for number, lane in enumerate(lanes)}
        rows = 2 if apart < LANE else 1  # names that are wider than their lane stand on two lines in turn
        for number, (lane, x) in enumerate(at.items()):
            y = self.y + PAD + LINE * (number % rows + 1) - 4
            yield letters(x, y, self._lane(lane), "lane", middle=True, bold=True)
        self.y += PAD + LINE * rows
        for number, line in enumerate(self.shown.trace, 1):
            yield self._step(number, line, at, NUMBER, int((self.width - NUMBER) / self.column))
        self.y += PAD

    def _step(self, number: int, line: TraceLine, at: Mapping[str, float], begin: float, columns: int) -> str:
        mark, is_bold = MARKS[line.severity], line.severity is Severity.DAMAGE
        words = lines_of(self.say(line.text), int(columns / BOLD) if is_bold else columns) or [""]
        lanes = "".join(f"M{x:g} {self.y:g}v{LINE}" for x in at.values())
        body = [f'<path d="{lanes}" stroke="currentColor" stroke-dasharray="1 4"/>']
        body.append(arrow(at[line.actor], at.get(line.to), self.y + LINE / 2))
        self.y += LINE
        body.append(letters(0, self.y + LINE - 3, f"{number}{mark}", bold=bool(mark)))
        for one in words:
            self.y += LINE
            body.append(letters(begin, self.y - 3, one, bold=is_bold))
        self.y += PAD
        return f'<g class="event" data-step={quoteattr(line.id)}>{"".join(body)}</g>'

    def _row(self, name: str, pairs: Sequence[Pair], where: str) -> str:
        is_there = any(pair.sort == "row" for pair in pairs)
        entries = [pair for pair in pairs if pair.sort == "entry"]
        body = [self._box(0, self._row_words(name, pairs, where), is_dashed=not is_there)]
        self.y = self.lower
        bottom = self.y - PAD + 4
        if not entries and is_there and self._lacks_an_entry():
            body.append(self._box(LANE, self.say(Text("no entry")), is_dashed=True))
            self.y = self.lower
        for pair in entries:
            body.append(self._entry_below(pair, bottom, is_there=is_there))
            self.y = self.lower
        self.y += PAD
        return f'<g class="row">{"".join(body)}</g>'

    def _entry_below(self, pair: Pair, bottom: float, *, is_there: bool) -> str:
        box = self._box(LANE, self._entry_words(pair), is_hatched=pair.is_tombstone)
        if pair.is_tombstone:
            return box
        x, y = LANE / 2, self.y + LINE / 2
        if not is_there:
            broken = f'<path d="M{LANE - 6:g} {y:g}H{x + 12:g}" stroke="currentColor" stroke-dasharray="4 4"/>'
            return box + broken + letters(x, y + 5, "✗", middle=True, bold=True)
        head = f"M{x - 4:g} {bottom + 7:g}L{x:g} {bottom:g}L{x + 4:g} {bottom + 7:g}z"
        line = f'<path d="M{LANE - 6:g} {y:g}H{x:g}V{bottom + 6:g}" stroke="currentColor" fill="none"/>'
        return f'{box}{line}<path d="{head}" fill="currentColor"/>'

    def _box_width(self, x: float) -> float:
        return self.width - x - 2
