"""The parts of the cluster, as a picture and a table: everything reaches PostgreSQL, and Redis behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from leases.models import Node
from schemalab.launch.procfile import ROOT, read_procfile
from schemalab.operations.consequences import does
from storage.selectors import storage_numbers

WIDTH, MARGIN, GAP = 760, 8, 10
NODES_SHOWN_MAX = 5
BOX_WIDTH_MAX = 170
CLIENTS_Y, ABOVE_Y, STORE_Y, NEWS_Y, BELOW_Y = 8, 78, 172, 236, 318
"""The tops of the five rows, in the picture's units."""
HEIGHT = 382
HEIGHTS = {CLIENTS_Y: 34, ABOVE_Y: 56, STORE_Y: 48, NEWS_Y: 44, BELOW_Y: 56}


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    note: str
    x: float
    y: float
    width: float

    @property
    def height(self) -> int:
        return HEIGHTS[int(self.y)]

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def name_y(self) -> float:
        return self.y + (self.height / 2 + 5 if not self.note else self.height / 2 - 3)

    @property
    def note_y(self) -> float:
        return self.y + self.height / 2 + 15


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    does: str
    where: str
    talks_to: str


@dataclass(slots=True)
class Picture:
    boxes: list[Box] = field(default_factory=list)
    services: list[Box] = field(default_factory=list)
    stored: list[tuple[float, float, float]] = field(default_factory=list)
    """x, y and y of each line that carries what is kept."""
    asked: list[tuple[float, float, float]] = field(default_factory=list)
    """The same of the lines between who asks and who answers."""
    news: list[tuple[float, float, float]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    width: int = WIDTH
    height: int = HEIGHT


def picture(postgresql: str, redis: str) -> Picture:
    drawn = Picture()
    count = len(storage_numbers())
    storages = ngettext("%(n)s storage", "%(n)s storages", count) % {"n": count}
    store = (f"PostgreSQL {postgresql.split()[0]}", does("postgres"), _where(settings.DATABASE_URL, is_store=True))
    news = (f"Redis {redis}", does("redis"), _where(settings.REDIS_URL, is_store=False))
    for (name, work, where), y, more in ((store, STORE_Y, f" · {storages}"), (news, NEWS_Y, "")):
        drawn.services.append(Box(f"{name} ({where}){more}", work, MARGIN, y, WIDTH - 2 * MARGIN))
        drawn.rows.append(Row(name, work, where + more, ""))
    nodes = list(Node.objects.filter(port__gt=0).order_by("name"))
    _above(drawn, nodes)
    commands = read_procfile((ROOT / "Procfile").read_text(encoding="utf-8"))
    workers = {name: words.split() for name, words in commands.items() if words.startswith("celery ")}
    notes = {name: _work_of(name, words) for name, words in workers.items()}
    _hang(drawn, _in_a_row([*notes.items()], BELOW_Y), upwards=True)
    drawn.rows += [Row(name, does(name), note, "PostgreSQL, Redis") for name, note in notes.items()]
    return drawn


def _where(url: str, *, is_store: bool) -> str:
    """Only the host of an address: it may have a password."""
    if settings.IS_DATABASE_EMBEDDED if is_store else settings.IS_REDIS_EMBEDDED:
        return _("embedded")
    return urlsplit(url).hostname or _("a socket of this machine")


def _above(drawn: Picture, nodes: list[Node]) -> None:
    more = max(0, len(nodes) - NODES_SHOWN_MAX)
    shown = [(node.name, f"{node.host}:{node.port}") for node in nodes[:NODES_SHOWN_MAX]]
    shown += [(_("%(n)s more") % {"n": more}, "")] if more else []
    boxes = _in_a_row([("web", "Django, Channels"), *shown], ABOVE_Y)
    _hang(drawn, boxes, upwards=False)
    clients = [Box(_("browsers"), "", boxes[0].x, CLIENTS_Y, boxes[0].width)]
    if boxes[1:]:
        width = boxes[-1].x + boxes[-1].width - boxes[1].x
        clients.append(Box(_("SQL clients"), "", boxes[1].x, CLIENTS_Y, width))
    drawn.boxes += clients
    drawn.asked += [(box.middle, CLIENTS_Y + HEIGHTS[CLIENTS_Y], ABOVE_Y) for box in boxes]
    both = "PostgreSQL, Redis"
    drawn.rows.append(Row("web", does("web"), "", both))
    drawn.rows += [Row(node.name, does("node"), f"{node.host}:{node.port}", both) for node in nodes]


def _work_of(name: str, words: list[str]) -> str:
    if name == "spark":
        return f"Celery, Spark {settings.SPARK_MASTER}"
    if "--concurrency" not in words:
        return "Celery beat"
    count = int(words[words.index("--concurrency") + 1])
    return f"Celery × {count}"


def _in_a_row(wanted: list[tuple[str, str]], y: float) -> list[Box]:
    width = min(BOX_WIDTH_MAX, (WIDTH - 2 * MARGIN + GAP) / len(wanted) - GAP)
    first = (WIDTH - len(wanted) * (width + GAP) + GAP) / 2
    return [Box(name, note, first + at * (width + GAP), y, width) for at, (name, note) in enumerate(wanted)]


def _hang(drawn: Picture, boxes: list[Box], *, upwards: bool) -> None:
    drawn.boxes += boxes
    for box in boxes:
        kept, heard = box.middle - 12, box.middle + 12
        if upwards:
            drawn.stored.append((kept, STORE_Y + HEIGHTS[STORE_Y], box.y))
            drawn.news.append((heard, NEWS_Y + HEIGHTS[NEWS_Y], box.y))
        else:
            drawn.stored.append((kept, box.y + box.height, STORE_Y))
            drawn.news.append((heard, box.y + box.height, NEWS_Y))


def as_context(facts: dict[str, Any]) -> dict[str, Any]:
    return {"picture": picture(str(facts["postgresql"]), str(facts["redis"]))}
