"""The words of the ladder and of its player, in the reader's language, by the keys that `static/lab/ladder*.js` use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

STORES: Mapping[str, str | Promise] = {
    "rows": _("Rows of t"),
    "messages": _("Messages"),
    "index": _("Index by_a"),
    "column": _("Values of column a"),
    "old": _("The old placement"),
    "new": _("The new placement"),
    "child": _("Rows of child"),
    "parent": _("Rows of parent"),
}


@dataclass(frozen=True, slots=True)
class StageWords:
    """The titles of two stores, and the words that a stage has instead of those in `WORDS`."""

    titles: tuple[str | Promise, str | Promise]
    words: Mapping[str, str | Promise]


ADDED: dict[str, Callable[[], StageWords]] = {}
"""Of stages that packages above the lab add, by the name of their stores."""


def titles_of(stores: str) -> list[str]:
    """The titles of the stores on the stage; the second one is "" where there is one only."""
    if stores in ADDED:
        return [str(title) for title in ADDED[stores]().titles]
    if stores == "placements":
        return [str(STORES["old"]), str(STORES["new"])]
    if stores == "parents":
        return [str(STORES["child"]), str(STORES["parent"])]
    if stores == "messages":
        return [str(STORES["messages"]), ""]
    return [str(STORES["rows"]), str(STORES[stores]) if stores else ""]


WORDS: Mapping[str, str | Promise] = {
    # tiles, and a line for each of what it is
    "absent": pgettext_lazy("state", "absent"),
    "delete-only": pgettext_lazy("state", "delete-only"),
    "write-only": pgettext_lazy("state", "write-only"),
    "public": pgettext_lazy("state", "public"),
    "fill": pgettext_lazy("tile", "fill"),
    "verify": pgettext_lazy("tile", "verify"),
    "delete": pgettext_lazy("tile", "delete"),
    "drain": pgettext_lazy("tile", "drain"),
    "close": pgettext_lazy("tile", "close"),
    "about delete-only": _("delete-only: removes entries, adds none"),
    "about write-only": _("write-only: adds and removes entries, no query reads them"),
    "about public": _("public: queries read it"),
    "about absent": _("absent: no server knows it"),
    "about fill": _("fill: adds what existing rows lack, once"),
    "about verify": _("verify: checks every row; stops the change if one fails"),
    "about delete": _("delete: removes everything that the element has stored"),
    "about drain": _("drain: waits until no server uses an older version"),
    "about close": _("close: from now on no worker of the fill may write"),
    # the ladder
    "tray": _("Tiles to place"),
    "ladder": _("Your ladder, from the first version to the last"),
    "clear": _("Clear"),
    "all placed": _("All tiles are placed."),
    "next tile": _("next tile"),
    "first tile": _("first tile"),
    "compatible": _("compatible"),
    "not compatible": _("not compatible"),
    "waits": _("waits"),
    "keys": _("Enter picks a tile up, arrow keys move it, Enter drops it, Escape puts it back, Delete takes it off."),
    "picked up": _("{tile} picked up. Arrow keys move it, Enter drops it, Escape puts it back, Delete takes it off."),
    "dropped": _("Dropped. {where}"),
    "put back": _("{tile} is back where it was."),
    "taken off": _("{tile} taken off."),
    "placed": _("{tile} placed. {where}"),
    "cleared": _("All tiles are back."),
    "loose": _("{tile} is with the loose tiles."),
    "where": _("{tile} is tile {n} of {all}, after {before}."),
    "put here": _("Put {tile} after {before}"),
    "take off": _("Take it off"),
    "say empty": _("Place tiles on the line. Tap a tile, or drag it."),
    "say bad": _("“{one}” and “{other}” cannot be in use together. Run it and see why."),
    "say ok": _("Every pair is compatible. That may not be enough: a run shows it."),
    "say ok work": _("Neighbouring versions are compatible. Does the work stand in the right place? Run it."),
    "say silent": _("Build your order, then run it."),
    "rule": _("The publisher waits until both servers have followed. At most two versions are in use."),
    # predicting and running
    "predict": _("What will happen?"),
    "choose": _("Choose what you expect first."),
    "predicted": _("You predicted: {what}"),
    "run": _("Run it"),
    "change": _("Change the order"),
    "tried orders": _("Orders you tried"),
    "tried n": _("{states} states tried .."),
    "waiting": _("Waiting: {before} before you."),
    "stop": _("Stop"),
    "stopped": _("Stopped."),
    "no answer": _("The server does not answer. Try again."),
    "why": _("Details"),
    "shortest": _("No shorter run does this."),
    "bounds": _("Within {bounds}"),
    "others": _("This order can also make: {what}"),
    "on the stage": _("Open this run in free play"),
    "finds": _("By the table it finds {table}, by the index {index}."),
    "no row": _("no row"),
    "row": _("row {row}"),
    "what was tried": _("What was tried"),
    "blocks": _("{states} states, in {blocks} blocks by their distance from the start"),
    # the stage and its player
    "server": _("Server {name}"),
    "publisher": _("Publisher"),
    "reorganisation": _("Reorganisation"),
    "store": _("One shared store"),
    "is gone": _("{what} is gone"),
    "nothing there": _("nothing here"),
    "orphan": _("orphan entry"),
    "missing": _("missing entry"),
    "duplicate": _("breaks the rule"),
    "unset": _("missing value"),
    "left-over": _("left over"),
    "lost": _("lost"),
    "twice": _("read twice"),
    "unreadable": _("unreadable"),
    "refused": _("refused"),
    "versions": _("third version"),
    "transport": _("Play the run"),
    "play": _("Play"),
    "pause": _("Pause"),
    "again": _("From the start"),
    "back": _("Step back"),
    "next": _("Next step"),
    "step": _("step {at} of {all}"),
    "added": pgettext_lazy("change in the store", "added"),
    "removed": pgettext_lazy("change in the store", "removed"),
}


def ladder_words(stores: str = "") -> dict[str, str]:
    own = ADDED[stores]().words if stores in ADDED else {}
    return {key: str(words) for key, words in {**WORDS, **own}.items()}
