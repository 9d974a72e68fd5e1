"""Programs that dump a database: refused as such, by their name or by what they ask first under another one."""

from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError

PG_DUMP, PG_DUMPALL = "pg_dump", "pg_dumpall"
PROGRAMS = (PG_DUMP, PG_DUMPALL)
INSTEAD = "psql's \\copy writes the rows of a table, its \\d shows it"
ASKED_FIRST = (
    (PG_DUMP, "set_config(name, ", "'restrict_nonsystem_relation_kind'"),
    (PG_DUMPALL, "rolpassword", "is_current_user FROM pg_authid"),
)
"""Parts of the first query of each that a node has not."""


def refusal(program: str) -> tuple[str, str, str]:
    return FEATURE_NOT_SUPPORTED, f"{program} of a node is not supported", INSTEAD


def refuse_first_query(sql: str) -> None:
    """Raises the refusal of the program whose query this is, of a query that a node refuses."""
    for program, *parts in ASKED_FIRST:
        if all(part in sql for part in parts):
            sqlstate, message, hint = refusal(program)
            raise SqlError(sqlstate, message, hint=hint)
