"""The tables that a statement of DDL meets."""

from dataclasses import replace
from typing import Any

import pytest

from catalog import descriptor
from catalog.elements import TableId
from catalog.hashing import schema_hash, sharding_hash
from catalog.models import Descriptor, Table
from changes.submission import tables_ahead
from tests.changes.referring import done

pytestmark = pytest.mark.django_db
[MADE] = done(("CREATE TABLE t (id int PRIMARY KEY, a int)",))


def publish(new: descriptor.Descriptor) -> descriptor.Descriptor:
    hashes = {"schema_hash": schema_hash(new), "sharding_hash": sharding_hash(new)}
    known = {"name": new.name, "version": new.version, "state": Table.State.LIVE}
    table, _ = Table.objects.update_or_create(id=new.table_id, defaults=known)
    Descriptor.objects.create(table=table, version=new.version, body=new.to_json(), **hashes)
    return new


def test_a_version_is_read_from_its_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement of DDL looks at all tables, and the next one waits for it."""
    read: list[str] = []

    def counted(body: Any) -> descriptor.Descriptor:
        read.append(f"{body['name']}@{body['version']}")
        return descriptor.from_json(body)

    monkeypatch.setattr(tables_ahead, "descriptor_from_json", counted)
    first, other = (publish(replace(MADE, table_id=TableId(n), name=f"once_{n}", version=1)) for n in (7, 8))
    assert [*tables_ahead.catalog_view().tables] == [first, other]
    assert [*tables_ahead.tables_now().tables] == [first, other]
    second = publish(replace(first, version=2, comment="more"))
    assert [*tables_ahead.catalog_view().tables] == [second, other]
    assert read == ["once_7@1", "once_8@1", "once_7@2"]
