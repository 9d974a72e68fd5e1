"""The explorer's faults as texts: the product words them in English (`storage.integrity.clauses`), a page in any
language. Likewise why there is no proof.

    index by_a has an entry for row id = 1, which does not exist
    {index} has an entry for row {row}, which does not exist         index by_a, row 1

Rows are named by their number, values as sentences about a model name them: 1 for 11.
"""

import re
from functools import lru_cache

from lab.explorer.contents.statements import assigned_text
from lab.explorer.plans.small_tables import FIRST_VALUE
from lab.texts import Patterns, Text, Values, read_back, text_of

ROW = r"row id = (?P<row>\d+)"
PATTERNS: Patterns = (
    (
        r"index (?P<index>\S+) has an entry, and (?P<version>\S+) contains no such index",
        Text("{index} has an entry, and {version} contains no such index"),
    ),
    (
        r"request (?P<number>\d+) has acknowledged row (?P<row>\d+) with (?P<right>.+), and it is read as (?P<read>.+)",
        Text("request {number} has acknowledged row {row} with {right}, and it is read as {read}"),
    ),
    (
        rf"index (?P<index>\S+) has an entry for {ROW}, which does not exist",
        Text("{index} has an entry for row {row}, which does not exist"),
    ),
    (
        rf"index (?P<index>\S+) has an entry for {ROW} with values the row no longer has",
        Text("{index} has an entry for row {row} with a value that the row no longer has"),
    ),
    (
        rf"index (?P<index>\S+) has an entry for {ROW}, which its condition does not accept",
        Text("{index} has an entry for row {row}, which its condition does not accept"),
    ),
    (rf"index (?P<index>\S+) has no entry for {ROW}", Text("{index} has no entry for row {row}")),
    (
        r"a pair is left of (?P<table>\S+), which (?P<version>\S+) does not contain",
        Text("a pair of table {table} is left, and {version} does not contain it"),
    ),
    (
        rf"a pair of {ROW} is of column \d+, which (?P<version>\S+) does not contain",
        Text("row {row} has a value in a column that {version} does not contain"),
    ),
    (
        rf"column (?P<column>.+) has a value for {ROW}, which does not exist",
        Text("column {column} has a value for row {row}, which does not exist"),
    ),
    (
        rf"column (?P<column>.+) has a value for {ROW} that does not follow from its source",
        Text("column {column} has a value for row {row} that does not follow from its source"),
    ),
    (
        rf"placement (?P<placement>\d+) has a copy of {ROW}, which does not exist",
        Text("placement {placement} has a copy of row {row}, which does not exist"),
    ),
    (
        rf"placement (?P<placement>\d+) has a copy of {ROW} with a value the row no longer has",
        Text("placement {placement} has a copy of row {row} with a value that the row no longer has"),
    ),
    (
        rf"{ROW} lies on storage (?P<storage>\d+), its place is (?P<place>\d+)",
        Text("row {row} lies on storage {storage}, its place is {place}"),
    ),
    (
        rf"the entry of index (?P<index>\S+) for {ROW} lies on storage (?P<storage>\d+), its place is (?P<place>\d+)",
        Text("the entry of {index} for row {row} lies on storage {storage}, its place is {place}"),
    ),
    (r"(?P<table>\S+) has no such placement now", Text("table {table} has no such placement now")),
    (
        r"key \w+ is of table .+, not of (?P<version>\S+)",
        Text("a pair is left of a placement that {version} does not contain"),
    ),
    (r"key \w+ is no pair of (?P<version>[^:]+): .+", Text("a pair is left that {version} does not know")),
    (
        rf"a tombstone is left in {ROW} although the change has ended",
        Text("a tombstone is left in row {row} although the change has ended"),
    ),
    (
        r"a tombstone is left in index (?P<index>\S+) although the change has ended",
        Text("a tombstone is left in {index} although the change has ended"),
    ),
    (rf"{ROW} has no value of (?P<column>\S+)", Text("row {row} has no value of {column}")),
    (
        rf"{ROW} has NULL in (?P<column>\S+), which is NOT NULL",
        Text("row {row} has NULL in {column}, which is NOT NULL"),
    ),
    (
        rf"{ROW} with (?P<values>\S+ = \S+) breaks constraint (?P<constraint>\S+): no row of (?P<table>\S+) has .+",
        Text("row {row} with {values} breaks {constraint}: {table} has no such row"),
    ),
    (
        rf"{ROW} with (?P<values>\S+ = \S+) breaks constraint (?P<constraint>\S+)",
        Text("row {row} with {values} breaks {constraint}"),
    ),
    (
        rf"{ROW} and row id = (?P<other>\d+) have the same value (?P<values>\S+ = \S+) in unique index (?P<index>\S+)",
        Text("row {row} and row {other} have the same value {values} in {index}"),
    ),
    (
        rf"{ROW} is missing, though its insert was acknowledged",
        Text("row {row} is missing, though its insert was acknowledged"),
    ),
    (rf"{ROW} is back after its delete", Text("row {row} is back after its delete")),
    (
        rf"{ROW} reads another value of (?P<column>a) than the last one that was acknowledged",
        Text("row {row} reads another value of {column} than the last one that was acknowledged"),
    ),
    (r"parent (?P<parent>\d+) is not as it was acknowledged", Text("parent {parent} is not as it was acknowledged")),
    (
        rf"{ROW} has (?P<value>\d+) in (?P<column>a), which the narrower type lacks",
        Text("row {row} has {value} in {column}, which the narrower type lacks"),
    ),
    (rf"{ROW} is read in both placements", Text("row {row} is read in both placements")),
    (
        r"no row can be inserted: (?P<constraint>\S+) does not hold, and (?P<column>a) is (?P<state>\S+)",
        Text("no row can be inserted: {constraint} does not hold, and this version cannot name {column}"),
    ),
    (
        rf"{ROW} cannot be changed: (?P<constraint>\S+) does not hold, and (?P<column>a) is (?P<state>\S+)",
        Text("row {row} cannot be changed: {constraint} does not hold, and this version cannot name {column}"),
    ),
    (
        r"(?P<node>\S+) leases version (?P<version>\d+) beside (?P<newest>\d+)",
        Text("{node} leases version {version} beside {newest}"),
    ),
)
"""The English of each fault, as the product has it, and the text for it."""


@lru_cache(maxsize=4096)
def fault_text(why: str) -> Text:
    """The text of a fault; what no pattern knows stays in English."""
    text = read_back(why, PATTERNS)
    if text is None:
        return Text("{why}", {"why": why})
    values: Values = {**text.values}
    if "version" in values:
        values["version"] = re.sub(r"^t@", "v", str(values["version"]))
    if "values" in values:
        column, _, value = str(values["values"]).partition(" = ")
        values["values"] = assigned_text(column.strip("()"), re.sub(r"\d+", _as_named, value.strip("()")))
    return Text(text.template, values)


UNKNOWN: Patterns = (
    (r"gave up after (?P<n>\d+) states.*", Text("it gave up after {n} states")),
    (r"gave up after (?P<n>\d+) s.*", Text("it gave up after {n} s")),
    (r"gave up after (?P<n>\d+) attempts", Text("it gave up after {n} attempts")),
    (r"the search failed: .+", Text("the search failed: the log of the process lab says why")),
    (r"was stopped after (?P<n>\d+) states", Text("it was stopped after {n} states")),
)
"""Why a search came to no verdict."""


def unknown_text(why: str) -> Text:
    """Why a search came to no verdict; "" when it came to one."""
    return text_of(why, UNKNOWN)


def _as_named(number: re.Match[str]) -> str:
    value = int(number[0])
    return str(value - FIRST_VALUE + 1 if value >= FIRST_VALUE else value)
