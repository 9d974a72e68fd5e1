"""The first minute, on the front page and as set-up `one-jump`: n2 inserts row 1 with its entry; n1, whose version has
no index, deletes the row; the entry stays. It is a run of the model; only words are here."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.spaces.full_space import Plain
from lab.explorer.witness import parse, replay
from lab.ladders.frames import Film, Frame, places_of
from lab.ladders.played import stores_of
from lab.pages.ladder_words import ladder_words, titles_of
from lab.pages.ladders import frames_worded
from lab.sessions.model.setups import model_of
from lab.sessions.replay import new_session
from lab.sessions.session import encode
from lab.sessions.setups import setup_named
from lab.sessions.short_steps import in_full
from lab.sessions.shown import Probe

SETUP = "one-jump"
CHAPTER, FIRST_CHAPTER = "01-one-jump", "00-new-messenger"
CLICKS = ("n2.insert.1.1", "n1.delete.1")
WORDS = ("server", "publisher", "reorganisation", "store", "is gone", "nothing there", "orphan", "added", "removed")


@lru_cache(maxsize=1)
def _run() -> tuple[str, tuple[Frame, ...], Probe]:
    session = new_session(SETUP)
    model, _rows = model_of(setup_named(SETUP), session)
    plain = Plain(effects_of(model))
    steps = parse(plain, in_full((*session.steps, *CLICKS)))
    film = Film(plain, places_of(plain, ("public",), {}))
    met = next(probe for probe in film.probes(replay(plain, steps)[-1]) if probe.differs)
    return stores_of(model), film.frames(steps), met


def link() -> str:
    session = new_session(SETUP)
    return encode(session)


def first_minute() -> Mapping[str, Any]:
    stores, frames, met = _run()
    words = ladder_words()
    ground = {"value": "absent", "text": _("no index"), "states": ["absent"], "isWork": False}
    tile = {"value": "public", "text": _("index by_a"), "states": ["public"], "isWork": False}
    data = {
        "ground": ground,
        "tiles": [tile],
        "words": {name: words[name] for name in WORDS},
        "stores": titles_of(stores),
        "frames": frames_worded(frames),
        "start": len(frames) - 1 - len(CLICKS),
        "begins": _("Both servers use schema v1. A new version, v2, adds an index."),
        "clicks": [
            {
                "node": "n2",
                "label": _("Insert row 1"),
                "coach": _("n2 uses schema v2, n1 still uses v1. The table is empty. Let n2 insert a row."),
                "bubble": _("1: let n2 insert"),
                "other": _("There is no row yet. Let n2 insert it first."),
            },
            {
                "node": "n1",
                "label": _("Delete row 1"),
                "coach": _("There is a row, and its entry in the index. Now let n1 delete the row."),
                "bubble": _("2: let n1 delete"),
                "other": _("Row 1 is in the table. Now let n1 delete it."),
            },
        ],
        "over": _("Both clicks are done, and the entry is left. Press Start over to play them again."),
    }
    return {
        "data": data,
        "query": met.query,
        "chapter": CHAPTER,
        "first_chapter": FIRST_CHAPTER,
        "link": link(),
        "sentences": [frame["sentence"] for frame in data["frames"]],
    }
