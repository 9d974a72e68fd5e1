"""Pairs as a question offers them, in words: `entry 1→r1` is how a file names one (`lab.exercises.observations`)."""

from lab.texts import Patterns, Text, read_back

NEW_PLACE = " in the new placement"

PAIRS: Patterns = (
    (r"row (?P<row>\d+)", Text("row {row}")),
    (r"row (?P<row>\d+) \(a=(?P<value>-?\d+)\)", Text("row {row} with a = {value}")),
    (r"entry (?P<value>\S+)→r(?P<row>\d+)", Text("the entry a = {value}, which leads to row {row}")),
    (r"tombstone (?P<value>\S+)→r(?P<row>\d+)", Text("a tombstone in place of the entry a = {value} of row {row}")),
)


def pair_text(name: str) -> Text:
    """A pair in words; one that no pattern knows stands for itself."""
    pair = read_back(name.removesuffix(NEW_PLACE), PAIRS)
    if pair is None:
        return Text("{name}", {"name": name})
    return Text("{pair} in the new placement", {"pair": pair}) if name.endswith(NEW_PLACE) else pair
