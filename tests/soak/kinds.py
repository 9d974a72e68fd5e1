"""The schema changes of the storm, there and back, by table; none takes away what clients write. `EXTRAS` is a table
that no client writes: its own name changes, and it is created and dropped again and again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

EXTRAS = "CREATE TABLE extras (id integer PRIMARY KEY, word text, amount integer)"


@dataclass(frozen=True, slots=True)
class Kind:
    """A change and its reversal. `must_fail` names the element that the rows which are there forbid."""

    table: str
    name: str
    there: str
    back: str
    must_fail: str = ""


def _either(start: str, there: str, back: str) -> tuple[str, str]:
    return f"{start} {there}", f"{start} {back}"


def _index(name: str, columns: str, *, kind: str = "INDEX") -> tuple[str, str]:
    return f"CREATE {kind} {name} ON {columns}", f"DROP INDEX {name}"


def _added(table: str, element: str, *more: str) -> tuple[str, str]:
    """Columns or constraints, each by its definition."""
    both = (element, *more)
    dropped = ", ".join(f"DROP {kind} {name}" for kind, name, *_ in (one.split() for one in both))
    return f"ALTER TABLE {table} {', '.join(f'ADD {one}' for one in both)}", f"ALTER TABLE {table} {dropped}"


def _storages(table: str) -> Kind:
    """There are three storages at first; they are removed and added meanwhile."""
    return Kind(table, "storages", *_either(f"ALTER TABLE {table} SET", "(storages = 3)", "(storages = 2)"))


def _coordination(table: str) -> Kind:
    start = f"ALTER TABLE {table} SET"
    return Kind(table, "coordination", *_either(start, "(coordination = 'hash')", "(coordination = 'lease')"))


def _sharding(table: str) -> Kind:
    start = f"ALTER TABLE {table} SET"
    return Kind(
        table, "sharding function", *_either(start, "(sharding_func = 'mpcrc32')", "(sharding_func = 'strcrc32')")
    )


def _column(table: str, column: str, there: str, back: str) -> tuple[str, str]:
    return _either(f"ALTER TABLE {table} ALTER COLUMN {column}", there, back)


KINDS = (
    Kind("items", "index", *_index("items_colour", "items (colour)")),
    Kind("items", "index of two columns, one descending", *_index("items_two", "items (colour, size DESC)")),
    Kind("items", "partial index", *_index("items_large", "items (colour) WHERE size > 60")),
    Kind("items", "unique index", *_index("items_one", "items (label, id)", kind="UNIQUE INDEX")),
    Kind("items", "optional column", *_added("items", "COLUMN note text")),
    Kind("items", "required column", *_added("items", "COLUMN stops integer NOT NULL DEFAULT 7")),
    Kind("items", "column with a stable default", *_added("items", "COLUMN seen timestamptz DEFAULT now()")),
    Kind("items", "NOT NULL", *_column("items", "colour", "SET NOT NULL", "DROP NOT NULL")),
    Kind("items", "CHECK", *_added("items", "CONSTRAINT sized CHECK (size >= 0)")),
    Kind("items", "type", *_column("items", "size", "TYPE bigint", "TYPE integer")),
    _sharding("items"),
    _storages("items"),
    _coordination("items"),
    Kind("items", "column's name", "ALTER TABLE items RENAME COLUMN plain TO simple",
        "ALTER TABLE items RENAME COLUMN simple TO plain"),
    Kind("items", "default", *_column("items", "plain", "SET DEFAULT 'as ever'", "DROP DEFAULT")),
    Kind(
        "items",
        "several at once",
        "ALTER TABLE items ADD COLUMN gate integer DEFAULT 1, ADD CONSTRAINT has_gate CHECK (gate > 0),"
        " ADD CONSTRAINT one_gate UNIQUE (id, gate)",
        "ALTER TABLE items DROP CONSTRAINT has_gate, DROP COLUMN gate",
    ),
    Kind(
        "items",
        "unique index over duplicates",
        *_index("items_never", "items (colour)", kind="UNIQUE INDEX"),
        must_fail="items_never",
    ),
    Kind("accounts", "index", *_index("accounts_branch", "accounts (branch)")),
    Kind("accounts", "index of what always changes", *_index("accounts_balance", "accounts (balance)")),
    Kind("accounts", "unique constraint", *_added("accounts", "CONSTRAINT accounts_owner UNIQUE (owner)")),
    Kind("accounts", "required column", *_added("accounts", "COLUMN limits integer NOT NULL DEFAULT 0")),
    Kind("accounts", "CHECK", *_added("accounts", "CONSTRAINT solid CHECK (balance > -1000000)")),
    _coordination("accounts"),
    _storages("accounts"),
    Kind(
        "accounts",
        "CHECK that rows violate",
        *_added("accounts", "CONSTRAINT rich CHECK (balance > 1000000)"),
        must_fail="rich",
    ),
    Kind(
        "transfers",
        "foreign key",
        *_added("transfers", "CONSTRAINT transfers_src FOREIGN KEY (src) REFERENCES accounts"),
    ),
    Kind(
        "transfers",
        "second foreign key",
        *_added("transfers", "CONSTRAINT transfers_dst FOREIGN KEY (dst) REFERENCES accounts (id)"),
    ),
    Kind("transfers", "index", *_index("transfers_by_src", "transfers (src)")),
    _coordination("transfers"),
    _storages("transfers"),
    Kind(
        "transfers",
        "foreign key of rows that refer to nothing",
        *_added("transfers", "CONSTRAINT transfers_lost FOREIGN KEY (amount) REFERENCES extras"),
        must_fail="transfers_lost",
    ),
    Kind("transfers", "optional column", *_added("transfers", "COLUMN note text")),
    Kind("measures", "index of a numeric", *_index("measures_price", "measures (price)")),
    Kind("measures", "index of an interval and a time", *_index("measures_took", "measures (took DESC, at)")),
    Kind("measures", "unique index of bytes", *_index("measures_raw", "measures (raw, id)", kind="UNIQUE INDEX")),
    Kind("measures", "partial index by a numeric", *_index("measures_dear", "measures (code) WHERE price > 9.5")),
    Kind("measures", "required numeric", *_added("measures", "COLUMN weight numeric(8, 3) NOT NULL DEFAULT 1.250")),
    Kind("measures", "array with a default", *_added("measures", "COLUMN parts numeric(8, 2)[] DEFAULT '{1.5,NULL}'")),
    Kind(
        "measures",
        "document with a default",
        *_added("measures", """COLUMN notes jsonb NOT NULL DEFAULT '{"a": [1, 2.50]}'"""),
    ),
    Kind(
        "measures",
        "interval and bytes at once",
        *_added("measures", "COLUMN rest interval DEFAULT '1 mon'", "COLUMN seal bytea NOT NULL DEFAULT '\\x00ff'"),
    ),
    Kind("measures", "type: integer, numeric", *_column("measures", "quantity", "TYPE numeric(10, 2)", "TYPE integer")),
    Kind("measures", "scale of a numeric", *_column("measures", "price", "TYPE numeric(14, 4)", "TYPE numeric(12, 3)")),
    Kind("measures", "length of a text", *_column("measures", "code", "TYPE varchar(40)", "TYPE varchar(12)")),
    Kind("measures", "CHECK of an array", *_added("measures", "CONSTRAINT tagged CHECK (cardinality(tags) < 500)")),
    Kind("measures", "CHECK of a document", *_added("measures", "CONSTRAINT numbered CHECK (doc ? 'n')")),
    _storages("measures"),
    _sharding("measures"),
    _coordination("measures"),
    Kind(
        "measures",
        "unique index over duplicates",
        *_index("measures_never", "measures (quantity)", kind="UNIQUE INDEX"),
        must_fail="measures_never",
    ),
    Kind("archive", "index", *_index("archive_price", "archive (price DESC)")),
    Kind("archive", "unique index", *_index("archive_one", "archive (code, id)", kind="UNIQUE INDEX")),
    Kind("archive", "required column", *_added("archive", "COLUMN shelf numeric NOT NULL DEFAULT 1.50")),
    Kind("archive", "column's name", "ALTER TABLE archive RENAME COLUMN plain TO simple",
        "ALTER TABLE archive RENAME COLUMN simple TO plain"),
    _storages("archive"),
    Kind("extras", "table's name", "ALTER TABLE extras RENAME TO extras_too",
        "ALTER TABLE extras_too RENAME TO extras"),
    Kind("extras", "table dropped and made again", "DROP TABLE extras", EXTRAS),
    Kind("extras", "name of a constraint", "ALTER TABLE extras ADD CONSTRAINT airborne CHECK (amount > 0)",
        "ALTER TABLE extras RENAME CONSTRAINT airborne TO aloft"),
    Kind("extras", "index", *_index("extras_word", "extras (word)")),
)  # fmt: skip
TABLES = tuple(dict.fromkeys(kind.table for kind in KINDS))
REFUSALS = (
    "0A000", "22023", "2BP01", "42701", "42703", "42704", "42710", "42P01", "42P07", "42P16", "42830", "55000", "55006",
    "57014",
)  # fmt: skip
"""Answers that a statement may get that does not fit the schema as it is by then, or whose change was cancelled."""
ROWS_FORBID = ("23502", "23503", "23505", "23514")

PARTIAL: Mapping[str, Callable[[Mapping[str, object]], bool]] = {
    "items_large": lambda row: isinstance(size := row["size"], int) and size > 60,
    "measures_dear": lambda row: isinstance(price := row["price"], Decimal) and price > Decimal("9.5"),
}
"""The conditions of partial indexes, written once more for the judge."""


def kind_of(statement: str) -> str:
    """The name of a statement of the storm in figures: `there` or `back` of a kind."""
    for kind in KINDS:
        if statement in (kind.there, kind.back):
            return f"{kind.name}, {'there' if statement == kind.there else 'back'}"
    return "made table dropped" if statement.startswith("DROP TABLE") else "another"


def must_fail(statement: str) -> bool:
    return any(kind.must_fail and statement == kind.there for kind in KINDS)


def is_refused_for_now(sqlstate: str | None, message: str) -> bool:
    """True when a write was refused by an element that must fail: it is enforced before its rows are looked at."""
    return sqlstate in ROWS_FORBID and any(kind.must_fail and f'"{kind.must_fail}"' in message for kind in KINDS)
