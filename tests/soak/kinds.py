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


def _on_more_storages(table: str) -> Kind:
    """There are three storages at first; they are removed and added meanwhile."""
    there, back = (f"ALTER TABLE {table} SET (storages = {count})" for count in (3, 2))
    return Kind(table, "storages", there, back)


def _of_items() -> tuple[Kind, ...]:
    table = "items"
    return (
        Kind(table, "index", "CREATE INDEX items_colour ON items (colour)", "DROP INDEX items_colour"),
        Kind(
            table,
            "index of two columns, one descending",
            "CREATE INDEX items_two ON items (colour, size DESC)",
            "DROP INDEX items_two",
        ),
        Kind(
            table,
            "partial index",
            "CREATE INDEX items_large ON items (colour) WHERE size > 60",
            "DROP INDEX items_large",
        ),
        Kind(table, "unique index", "CREATE UNIQUE INDEX items_one ON items (label, id)", "DROP INDEX items_one"),
        Kind(
            table,
            "optional column",
            "ALTER TABLE items ADD COLUMN note text",
            "ALTER TABLE items DROP COLUMN note",
        ),
        Kind(
            table,
            "required column",
            "ALTER TABLE items ADD COLUMN stops integer NOT NULL DEFAULT 7",
            "ALTER TABLE items DROP COLUMN stops",
        ),
        Kind(
            table,
            "column with a stable default",
            "ALTER TABLE items ADD COLUMN seen timestamptz DEFAULT now()",
            "ALTER TABLE items DROP COLUMN seen",
        ),
        Kind(
            table,
            "NOT NULL",
            "ALTER TABLE items ALTER COLUMN colour SET NOT NULL",
            "ALTER TABLE items ALTER COLUMN colour DROP NOT NULL",
        ),
        Kind(
            table,
            "CHECK",
            "ALTER TABLE items ADD CONSTRAINT sized CHECK (size >= 0)",
            "ALTER TABLE items DROP CONSTRAINT sized",
        ),
        Kind(
            table,
            "type",
            "ALTER TABLE items ALTER COLUMN size TYPE bigint",
            "ALTER TABLE items ALTER COLUMN size TYPE integer",
        ),
        Kind(
            table,
            "sharding function",
            "ALTER TABLE items SET (sharding_func = 'mpcrc32')",
            "ALTER TABLE items SET (sharding_func = 'strcrc32')",
        ),
        _on_more_storages(table),
        Kind(
            table,
            "coordination",
            "ALTER TABLE items SET (coordination = 'hash')",
            "ALTER TABLE items SET (coordination = 'lease')",
        ),
        Kind(
            table,
            "column's name",
            "ALTER TABLE items RENAME COLUMN plain TO simple",
            "ALTER TABLE items RENAME COLUMN simple TO plain",
        ),
        Kind(
            table,
            "default",
            "ALTER TABLE items ALTER COLUMN plain SET DEFAULT 'as ever'",
            "ALTER TABLE items ALTER COLUMN plain DROP DEFAULT",
        ),
        Kind(
            table,
            "several at once",
            "ALTER TABLE items ADD COLUMN gate integer DEFAULT 1, ADD CONSTRAINT has_gate CHECK (gate > 0),"
            " ADD CONSTRAINT one_gate UNIQUE (id, gate)",
            "ALTER TABLE items DROP CONSTRAINT has_gate, DROP COLUMN gate",
        ),
        Kind(
            table,
            "unique index over duplicates",
            "CREATE UNIQUE INDEX items_never ON items (colour)",
            "DROP INDEX items_never",
            must_fail="items_never",
        ),
    )


def _of_accounts() -> tuple[Kind, ...]:
    table = "accounts"
    return (
        Kind(table, "index", "CREATE INDEX accounts_branch ON accounts (branch)", "DROP INDEX accounts_branch"),
        Kind(
            table,
            "index of what always changes",
            "CREATE INDEX accounts_balance ON accounts (balance)",
            "DROP INDEX accounts_balance",
        ),
        Kind(
            table,
            "unique constraint",
            "ALTER TABLE accounts ADD CONSTRAINT accounts_owner UNIQUE (owner)",
            "ALTER TABLE accounts DROP CONSTRAINT accounts_owner",
        ),
        Kind(
            table,
            "required column",
            "ALTER TABLE accounts ADD COLUMN limits integer NOT NULL DEFAULT 0",
            "ALTER TABLE accounts DROP COLUMN limits",
        ),
        Kind(
            table,
            "CHECK",
            "ALTER TABLE accounts ADD CONSTRAINT solid CHECK (balance > -1000000)",
            "ALTER TABLE accounts DROP CONSTRAINT solid",
        ),
        Kind(
            table,
            "coordination",
            "ALTER TABLE accounts SET (coordination = 'hash')",
            "ALTER TABLE accounts SET (coordination = 'lease')",
        ),
        _on_more_storages(table),
        Kind(
            table,
            "CHECK that rows violate",
            "ALTER TABLE accounts ADD CONSTRAINT rich CHECK (balance > 1000000)",
            "ALTER TABLE accounts DROP CONSTRAINT rich",
            must_fail="rich",
        ),
    )


def _of_transfers() -> tuple[Kind, ...]:
    table = "transfers"
    return (
        Kind(
            table,
            "foreign key",
            "ALTER TABLE transfers ADD CONSTRAINT transfers_src FOREIGN KEY (src) REFERENCES accounts",
            "ALTER TABLE transfers DROP CONSTRAINT transfers_src",
        ),
        Kind(
            table,
            "second foreign key",
            "ALTER TABLE transfers ADD CONSTRAINT transfers_dst FOREIGN KEY (dst) REFERENCES accounts (id)",
            "ALTER TABLE transfers DROP CONSTRAINT transfers_dst",
        ),
        Kind(table, "index", "CREATE INDEX transfers_by_src ON transfers (src)", "DROP INDEX transfers_by_src"),
        Kind(
            table,
            "coordination",
            "ALTER TABLE transfers SET (coordination = 'hash')",
            "ALTER TABLE transfers SET (coordination = 'lease')",
        ),
        _on_more_storages(table),
        Kind(
            table,
            "foreign key of rows that refer to nothing",
            "ALTER TABLE transfers ADD CONSTRAINT transfers_lost FOREIGN KEY (amount) REFERENCES extras",
            "ALTER TABLE transfers DROP CONSTRAINT transfers_lost",
            must_fail="transfers_lost",
        ),
        Kind(
            table,
            "optional column",
            "ALTER TABLE transfers ADD COLUMN note text",
            "ALTER TABLE transfers DROP COLUMN note",
        ),
    )


def _of_extras() -> tuple[Kind, ...]:
    table = "extras"
    return (
        Kind(
            table,
            "table's name",
            "ALTER TABLE extras RENAME TO extras_too",
            "ALTER TABLE extras_too RENAME TO extras",
        ),
        Kind(table, "table dropped and made again", "DROP TABLE extras", EXTRAS),
        Kind(
            table,
            "name of a constraint",
            "ALTER TABLE extras ADD CONSTRAINT airborne CHECK (amount > 0)",
            "ALTER TABLE extras RENAME CONSTRAINT airborne TO aloft",
        ),
        Kind(table, "index", "CREATE INDEX extras_word ON extras (word)", "DROP INDEX extras_word"),
    )


def _of_measures() -> tuple[Kind, ...]:
    table = "measures"
    return (
        Kind(
            table, "index of a numeric", "CREATE INDEX measures_price ON measures (price)", "DROP INDEX measures_price"
        ),
        Kind(
            table,
            "index of an interval and a time",
            "CREATE INDEX measures_took ON measures (took DESC, at)",
            "DROP INDEX measures_took",
        ),
        Kind(
            table,
            "unique index of bytes",
            "CREATE UNIQUE INDEX measures_raw ON measures (raw, id)",
            "DROP INDEX measures_raw",
        ),
        Kind(
            table,
            "partial index by a numeric",
            "CREATE INDEX measures_dear ON measures (code) WHERE price > 9.5",
            "DROP INDEX measures_dear",
        ),
        Kind(
            table,
            "required numeric",
            "ALTER TABLE measures ADD COLUMN weight numeric(8, 3) NOT NULL DEFAULT 1.250",
            "ALTER TABLE measures DROP COLUMN weight",
        ),
        Kind(
            table,
            "array with a default",
            "ALTER TABLE measures ADD COLUMN parts numeric(8, 2)[] DEFAULT '{1.5,NULL}'",
            "ALTER TABLE measures DROP COLUMN parts",
        ),
        Kind(
            table,
            "document with a default",
            """ALTER TABLE measures ADD COLUMN notes jsonb NOT NULL DEFAULT '{"a": [1, 2.50]}'""",
            "ALTER TABLE measures DROP COLUMN notes",
        ),
        Kind(
            table,
            "interval and bytes at once",
            "ALTER TABLE measures ADD COLUMN rest interval DEFAULT '1 mon',"
            " ADD COLUMN seal bytea NOT NULL DEFAULT '\\x00ff'",
            "ALTER TABLE measures DROP COLUMN rest, DROP COLUMN seal",
        ),
        Kind(
            table,
            "type: integer, numeric",
            "ALTER TABLE measures ALTER COLUMN quantity TYPE numeric(10, 2)",
            "ALTER TABLE measures ALTER COLUMN quantity TYPE integer",
        ),
        Kind(
            table,
            "scale of a numeric",
            "ALTER TABLE measures ALTER COLUMN price TYPE numeric(14, 4)",
            "ALTER TABLE measures ALTER COLUMN price TYPE numeric(12, 3)",
        ),
        Kind(
            table,
            "length of a text",
            "ALTER TABLE measures ALTER COLUMN code TYPE varchar(40)",
            "ALTER TABLE measures ALTER COLUMN code TYPE varchar(12)",
        ),
        Kind(
            table,
            "CHECK of an array",
            "ALTER TABLE measures ADD CONSTRAINT tagged CHECK (cardinality(tags) < 500)",
            "ALTER TABLE measures DROP CONSTRAINT tagged",
        ),
        Kind(
            table,
            "CHECK of a document",
            "ALTER TABLE measures ADD CONSTRAINT numbered CHECK (doc ? 'n')",
            "ALTER TABLE measures DROP CONSTRAINT numbered",
        ),
        _on_more_storages(table),
        Kind(
            table,
            "sharding function",
            "ALTER TABLE measures SET (sharding_func = 'mpcrc32')",
            "ALTER TABLE measures SET (sharding_func = 'strcrc32')",
        ),
        Kind(
            table,
            "coordination",
            "ALTER TABLE measures SET (coordination = 'hash')",
            "ALTER TABLE measures SET (coordination = 'lease')",
        ),
        Kind(
            table,
            "unique index over duplicates",
            "CREATE UNIQUE INDEX measures_never ON measures (quantity)",
            "DROP INDEX measures_never",
            must_fail="measures_never",
        ),
    )


def _of_archive() -> tuple[Kind, ...]:
    table = "archive"
    return (
        Kind(table, "index", "CREATE INDEX archive_price ON archive (price DESC)", "DROP INDEX archive_price"),
        Kind(
            table,
            "unique index",
            "CREATE UNIQUE INDEX archive_one ON archive (code, id)",
            "DROP INDEX archive_one",
        ),
        Kind(
            table,
            "required column",
            "ALTER TABLE archive ADD COLUMN shelf numeric NOT NULL DEFAULT 1.50",
            "ALTER TABLE archive DROP COLUMN shelf",
        ),
        Kind(
            table,
            "column's name",
            "ALTER TABLE archive RENAME COLUMN plain TO simple",
            "ALTER TABLE archive RENAME COLUMN simple TO plain",
        ),
        _on_more_storages(table),
    )


KINDS = (*_of_items(), *_of_accounts(), *_of_transfers(), *_of_measures(), *_of_archive(), *_of_extras())
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
