"""Pairs of a question's options, in words: a file names one as `entry 1→r1` (`lab.exercises.observations`)."""

import re

from catalog.text.message import Text

NEW_PLACE = " in the new placement"
ROW = re.compile(r"row (\d+)(?: \(a=(-?\d+)\))?")
ENTRY = re.compile(r"(entry|tombstone) (\S+)→r(\d+)")


def pair_text(name: str) -> Text:
    """An unknown name stays as it is."""
    pair = _pair(name.removesuffix(NEW_PLACE))
    if pair is None:
        return Text("{name}", {"name": name})
    return Text("{pair} in the new placement", {"pair": pair}) if name.endswith(NEW_PLACE) else pair


def _pair(name: str) -> Text | None:
    if found := ROW.fullmatch(name):
        row, value = found.groups()
        return (
            Text("row {row} with a = {value}", {"row": row, "value": value})
            if value
            else Text("row {row}", {"row": row})
        )
    if found := ENTRY.fullmatch(name):
        what, value, row = found.groups()
        entry, tombstone = (
            Text("the entry a = {value}, which leads to row {row}", {"value": value, "row": row}),
            Text("a tombstone in place of the entry a = {value} of row {row}", {"value": value, "row": row}),
        )
        return entry if what == "entry" else tombstone
    return None
