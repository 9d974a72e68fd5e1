"""The relations of the catalog, with the columns that PostgreSQL 18 gives them, in its order, from `relations.tsv`."""

from pathlib import Path

from storage.shadow import own_views

SCHEMA, OWN = "pg_catalog", "schemalab"


def _read() -> dict[str, tuple[str, ...]]:
    columns = {
        f"{OWN}.{name}": tuple(word.partition(":")[0] for word in words.split())
        for name, words in own_views.COLUMNS.items()
    }
    for line in Path(__file__).with_name("relations.tsv").read_text().splitlines():
        name, words = line.split("\t")
        columns[name.removeprefix(f"{SCHEMA}.")] = tuple(words.split())
    return columns


RELATIONS = _read()


def key_of(schema: str, name: str) -> str | None:
    """The key of the relation that a query names; pg_catalog is searched first, as in PostgreSQL."""
    key = name if schema in ("", SCHEMA) else f"{schema}.{name}"
    return key if key in RELATIONS else None
