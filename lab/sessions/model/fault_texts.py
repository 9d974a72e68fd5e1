"""The explorer's faults as texts for pages: rows by number, values as in sentences about a model (1 for 11)."""

from collections.abc import Mapping

from catalog.text.message import Text
from catalog.text.sentence import Sentence
from lab.explorer.contents.statements import assigned_text
from lab.explorer.plans.small_tables import FIRST_VALUE

NO_SUCH_INDEX = Text("{index} has an entry, and {version} contains no such index")
TEXTS: Mapping[str, Text] = {
    # storage.integrity
    "index {index} has an entry for {row}, which does not exist": Text(
        "{index} has an entry for row {row}, which does not exist"
    ),
    "index {index} has an entry for {row} with values the row no longer has": Text(
        "{index} has an entry for row {row} with a value that the row no longer has"
    ),
    "index {index} has an entry for {row}, which its condition does not accept": Text(
        "{index} has an entry for row {row}, which its condition does not accept"
    ),
    "index {index} has no entry for {row}": Text("{index} has no entry for row {row}"),
    "a pair is left of {table}, which {version} does not contain": Text(
        "a pair of table {table} is left, and {version} does not contain it"
    ),
    "a pair of {row} is of column {column}, which {version} does not contain": Text(
        "row {row} has a value in a column that {version} does not contain"
    ),
    "column {column} has a value for {row}, which does not exist": Text(
        "column {column} has a value for row {row}, which does not exist"
    ),
    "column {column} has a value for {row} that does not follow from its source": Text(
        "column {column} has a value for row {row} that does not follow from its source"
    ),
    "placement {placement} has a copy of {row}, which does not exist": Text(
        "placement {placement} has a copy of row {row}, which does not exist"
    ),
    "placement {placement} has a copy of {row} with a value the row no longer has": Text(
        "placement {placement} has a copy of row {row} with a value that the row no longer has"
    ),
    "{row} lies on storage {storage}, its place is {place}": Text(
        "row {row} lies on storage {storage}, its place is {place}"
    ),
    "the entry of index {index} for {row} lies on storage {storage}, its place is {place}": Text(
        "the entry of {index} for row {row} lies on storage {storage}, its place is {place}"
    ),
    "{table} has no such placement now": Text("table {table} has no such placement now"),
    "key {key} is of table {table}, placement {placement}, not of {version}": Text(
        "a pair is left of a placement that {version} does not contain"
    ),
    "key {key} is no pair of {version}: {error}": Text("a pair is left that {version} does not know"),
    "an entry of index {index}, which {version} does not contain": NO_SUCH_INDEX,
    "{row} is there more than once, on different storages": Text("row {row} is stored on more than one storage"),
    "{row} has no value of {column}": Text("row {row} has no value of {column}"),
    "has NULL in {column}, which is NOT NULL": Text("row {row} has NULL in {column}, which is NOT NULL"),
    "{row} with {values} breaks constraint {constraint}: no row of {table} has {missing}": Text(
        "row {row} with {values} breaks {constraint}: {table} has no such row"
    ),
    "breaks constraint {constraint}": Text("row {row} with {values} breaks {constraint}"),
    "{row} and {other} have the same {what} {values} in unique index {index}": Text(
        "row {row} and row {other} have the same value {values} in {index}"
    ),
    # lab.explorer
    "index {index} has an entry, and {version} contains no such index": NO_SUCH_INDEX,
    "row id = {row} is missing, though its insert was acknowledged": Text(
        "row {row} is missing, though its insert was acknowledged"
    ),
    "row id = {row} is back after its delete": Text("row {row} is back after its delete"),
    "row id = {row} reads another value of {column} than the last one that was acknowledged": Text(
        "row {row} reads another value of {column} than the last one that was acknowledged"
    ),
    "parent {parent} is not as it was acknowledged": Text("parent {parent} is not as it was acknowledged"),
    "row id = {row} has {value} in {column}, which the narrower type lacks": Text(
        "row {row} has {value} in {column}, which the narrower type lacks"
    ),
    "row id = {row} is read in both placements": Text("row {row} is read in both placements"),
    "no row can be inserted: {why}": Text(
        "no row can be inserted: {constraint} does not hold, and this version cannot name {column}"
    ),
    "row id = {row} cannot be changed: {why}": Text(
        "row {row} cannot be changed: {constraint} does not hold, and this version cannot name {column}"
    ),
    "{node} leases version {version} beside {newest}": Text("{node} leases version {version} beside {newest}"),
    # lab.cluster
    "request {number} has acknowledged row {row}, which is not there": Text(
        "request {number} has acknowledged row {row}, which is not there"
    ),
    "request {number} has acknowledged row {row} with {right}, and it is read as {read}": Text(
        "request {number} has acknowledged row {row} with {right}, and it is read as {read}"
    ),
}

TOMBSTONE = "a tombstone is left in {where} although the change has ended"
OF_ROW, OF_INDEX = (
    Text("a tombstone is left in row {row} although the change has ended"),
    Text("a tombstone is left in {index} although the change has ended"),
)

PARTS = frozenset({"offender", "why", "where"})
"""Values that are parts of the sentence, whose own values are its values."""


def fault_text(why: str) -> Text:
    """A fault without a page's text stays in English."""
    if not isinstance(why, Sentence):
        return Text("{why}", {"why": why})
    inner = why.values.get("why")
    innermost = inner if why.template == "{offender} {why}" and isinstance(inner, Sentence) else why
    values, template = _values(why), innermost.template
    if template == TOMBSTONE:
        return Text((OF_INDEX if "index" in values else OF_ROW).template, values)
    return Text(TEXTS[template].template, values) if template in TEXTS else Text("{why}", {"why": str(why)})


def _values(why: Sentence) -> dict[str, str | int | Text]:
    found: dict[str, str | int | Text] = {}
    for name, value in why.values.items():
        if not isinstance(value, Sentence):
            found[name] = value if isinstance(value, int) else str(value)
        elif name == "values":
            numbers = str(value.values["values"]).split(", ")
            found[name] = assigned_text(str(value.values["columns"]), ", ".join(map(_as_named, numbers)))
        elif name == "version":
            found[name] = f"v{value.values['version']}"
        elif "key" in value.values:
            found["row" if name in PARTS else name] = str(value.values["key"])
        elif name in PARTS:
            found |= _values(value)
    return found


def _as_named(number: str) -> str:
    return str(int(number) - FIRST_VALUE + 1) if number.isdigit() and int(number) >= FIRST_VALUE else number
