"""A store with descriptors and views, and its shadow."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from catalog import models
from catalog.descriptor import Descriptor
from catalog.hashing import schema_hash, sharding_hash
from catalog.view_definition import ViewDefinition
from schemalab.embedded.locations import locations_of
from storage.shadow import database
from storage.shadow.address import address_of, name_of
from storage.shadow.following import catch_up
from storage.shadow.position import Position

OWN = range(900, 1000)
SEEN = {
    "columns": """SELECT c.relname, a.attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
      pg_get_expr(adbin, adrelid), col_description(c.oid, attnum)
      FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid LEFT JOIN pg_attrdef ON adrelid = c.oid AND adnum = attnum
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped
      ORDER BY relname, attnum""",
    "relations": """SELECT relname, relkind, pg_get_userbyid(relowner), obj_description(oid, 'pg_class') FROM pg_class
      WHERE relnamespace = 'public'::regnamespace ORDER BY 1""",
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    "constraints": """SELECT conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid),
      obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE connamespace = 'public'::regnamespace
      ORDER BY 1, 2""",
    "views": "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1",
    "sequences": """SELECT sequencename, start_value, data_type::text FROM pg_sequences WHERE schemaname = 'public'
      ORDER BY 1""",
}
"""What clients see, without oids and numbers of columns."""
OIDS = "SELECT relname, oid::int8 FROM pg_class WHERE relnamespace = 'public'::regnamespace"


@dataclass
class Stores:
    """A store and its shadow."""

    dsn: str
    shadow: str
    beside: str

    def publish(self, *tables: Descriptor) -> None:
        for table in tables:
            row, _ = models.Table.objects.get_or_create(id=table.table_id, defaults={"name": table.name})
            hashes = {"schema_hash": schema_hash(table), "sharding_hash": sharding_hash(table)}
            models.Descriptor.objects.create(table=row, version=table.version, body=table.to_json(), **hashes)
            row.version, row.name, row.state = table.version, table.name, "live"
            row.save()

    def drop(self, table: Descriptor) -> None:
        models.Table.objects.filter(id=table.table_id).update(state="dropped")

    def view(self, view: ViewDefinition) -> None:
        body = {"name": view.name, "revision": view.revision, "body": json.loads(json.dumps(view.to_json()))}
        models.View.objects.update_or_create(id=view.view_id, defaults=body)

    def catch_up(self) -> Position:
        return catch_up(self.dsn, self.shadow)

    def seen(self, address: str = "") -> dict[str, list[tuple[Any, ...]]]:
        with psycopg.connect(address or self.shadow) as asking:
            return {what: asking.execute(sql.encode()).fetchall() for what, sql in SEEN.items()}

    def oids(self) -> dict[str, int]:
        with psycopg.connect(self.shadow) as asking:
            return dict(asking.execute(OIDS).fetchall())

    def seen_anew(self) -> dict[str, list[tuple[Any, ...]]]:
        """What a shadow shows that was empty before."""
        with psycopg.connect(self.beside) as emptied:
            emptied.execute("DROP SCHEMA public CASCADE")
            emptied.execute("CREATE SCHEMA public AUTHORIZATION schemalab_shown")
            known = database.position(emptied)
            database.remember(emptied, replace(known, digest="", tables={}, views={}))
        catch_up(self.dsn, self.beside)
        return self.seen(self.beside)


@pytest.fixture(scope="module")
def shadows(services: None, django_db_setup: None) -> Iterator[list[str]]:
    """Two shadows of the test database."""
    admin, name = locations_of(settings.HOME).url_of("postgres"), connection.settings_dict["NAME"]
    store = psycopg.conninfo.make_conninfo(admin, dbname=name)
    beside = psycopg.conninfo.make_conninfo(admin, dbname=f"{name}_beside")
    found = [address_of(store), beside]
    for address in found:
        catch_up(store, address)
    yield found
    with psycopg.connect(admin, autocommit=True) as ends:
        for address in found:
            ends.execute(f'DROP DATABASE "{name_of(address)}" WITH (FORCE)'.encode())


@pytest.fixture
def stores(dsn: str, shadows: list[str]) -> Iterator[Stores]:
    """Nothing is published: other tests leave what they have made."""
    found = Stores(dsn, *shadows)
    models.Table.objects.all().update(state="dropped")
    yield found
    models.View.objects.all().delete()
    models.Table.objects.all().update(state="dropped")
    found.catch_up()
    models.Descriptor.objects.filter(table_id__in=OWN).delete()
    models.Table.objects.filter(id__in=OWN).delete()
