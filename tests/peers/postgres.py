"""PostgreSQL by itself, with the settings that Schema Lab gives it: CREATE INDEX CONCURRENTLY, and a new column kept by
a trigger, filled by UPDATEs of some thousand rows, then renamed."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from schemalab.embedded import postgres
from schemalab.embedded.locations import locations_of, prepare_folders
from schemalab.supervisor.children import start, stop
from tests.harness.services import private_home
from tests.peers.rows import TABLE, write_csv
from tests.peers.tools import INDEX, TYPE, Tool
from tools.bench.rows import COLUMNS
from tools.bench.writers import write_paced

RANGE_ROWS = 5_000
COPY_BYTES = 1 << 20
KEPT = f"""
ALTER TABLE {TABLE} ADD COLUMN age_new bigint;
CREATE FUNCTION keep_age() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.age_new := NEW.age; RETURN NEW; END';
CREATE TRIGGER keep_age BEFORE INSERT OR UPDATE ON {TABLE} FOR EACH ROW EXECUTE FUNCTION keep_age();
"""
SWAPPED = f"""
BEGIN;
DROP TRIGGER keep_age ON {TABLE};
DROP FUNCTION keep_age();
ALTER TABLE {TABLE} DROP COLUMN age;
ALTER TABLE {TABLE} RENAME age_new TO age;
COMMIT;
"""


@contextmanager
def tools(rows: int) -> Iterator[list[Tool]]:
    with server() as address:
        with psycopg.connect(address, autocommit=True) as database, tempfile.TemporaryDirectory() as folder:
            load(database, Path(folder), rows)
        create, drop = f"CREATE INDEX CONCURRENTLY bench_index ON {TABLE} (name)", "DROP INDEX CONCURRENTLY bench_index"
        yield [
            Tool(
                "PostgreSQL, CONCURRENTLY", INDEX, f"`{create}`", "what it builds is right by construction",
                lambda: run(address, create), lambda: run(address, drop), address, write_paced,
            ),
            Tool(
                "PostgreSQL, ranged UPDATE", TYPE,
                f"a new column, a trigger, `UPDATE` of {RANGE_ROWS:,} rows at a time, a rename", "nothing",
                lambda: by_ranges(address, rows),
                lambda: run(address, f"ALTER TABLE {TABLE} ALTER COLUMN age TYPE integer"), address, write_paced,
            ),
        ]  # fmt: skip


@contextmanager
def server() -> Iterator[str]:
    """The address of a server with nothing else to do."""
    locations = locations_of(private_home("peers"))
    prepare_folders(locations)
    postgres.prepare(locations)
    launch = postgres.launch(locations)
    process = start(launch, output=locations.logs / "postgres.log")
    try:
        postgres.wait_until_ready(locations, still_running=process)
        yield locations.database_url
    finally:
        stop(process, launch)


def load(database: psycopg.Connection, folder: Path, rows: int) -> None:
    database.execute(f"CREATE TABLE {TABLE} ({COLUMNS})")
    copy = f"COPY {TABLE} FROM STDIN (FORMAT CSV)"
    with write_csv(folder, rows).open("rb") as file, database.cursor().copy(copy) as into:
        while part := file.read(COPY_BYTES):
            into.write(part)
    database.execute(f"VACUUM ANALYZE {TABLE}")


def run(address: str, statement: str) -> None:
    with psycopg.connect(address, autocommit=True) as database:
        database.execute(statement)


def by_ranges(address: str, rows: int) -> None:
    with psycopg.connect(address, autocommit=True) as database:
        database.execute(KEPT)
        for first in range(0, rows, RANGE_ROWS):
            sql = f"UPDATE {TABLE} SET age_new = age WHERE id >= %s AND id < %s"
            database.execute(sql, (first, first + RANGE_ROWS))
        database.execute(SWAPPED)
