"""The settings of PostgreSQL 18 that a node knows, and its own: a row for each in `known.tsv`. What belongs to a
server's files and processes is not here."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from catalog.text.similar import perhaps
from expressions.errors import UNDEFINED_OBJECT, SqlError

SERVER_VERSION = "18.0 (Schema Lab)"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `context`: user, superuser or internal; `default`, `low` and `high` count in `unit`."""

    name: str
    context: str
    kind: str
    unit: str
    default: str
    low: str
    high: str
    values: tuple[str, ...]
    description: str


def _read() -> dict[str, Setting]:
    with Path(__file__).with_name("known.tsv").open(newline="") as file:
        rows = csv.DictReader(file, dialect="excel-tab", quoting=csv.QUOTE_NONE)
        settings = [
            Setting(
                row["name"], row["context"], row["kind"], row["unit"], row["default"], row["low"], row["high"],
                tuple(value for value in row["values"].split(",") if value), row["description"],
            )
            for row in rows
        ]  # fmt: skip
    return {setting.name.lower(): setting for setting in settings}


KNOWN = _read()
KNOWN["server_version"] = Setting(
    "server_version", "internal", "string", "", SERVER_VERSION, "", "", (), KNOWN["server_version"].description
)


UNRECOGNIZED = "unrecognized configuration parameter "
"""What a text for the store casts to a number, with a name behind it, to be refused there (`unrecognized_in`)."""
_REFUSED = re.compile(f'invalid input syntax for type integer: "{UNRECOGNIZED}(.*)"', re.DOTALL)


def unrecognized_in(message: str) -> str | None:
    found = _REFUSED.fullmatch(message)
    return None if found is None else found[1]


def unrecognized(name: str) -> SqlError:
    hint = perhaps("parameter", name, (setting.name for setting in KNOWN.values()))
    return SqlError(UNDEFINED_OBJECT, f'{UNRECOGNIZED}"{name}"', hint=hint)
