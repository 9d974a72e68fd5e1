"""Views as they are stored: beside the changes that have not ended, each looks at what the other reads or moves."""

from dataclasses import replace

import pytest

from catalog.elements import TableId
from catalog.hashing import schema_hash, sharding_hash
from catalog.models import Descriptor, StoryEvent, Table
from catalog.selectors import stored_views
from catalog.view_definition import TableUse, ViewColumn, ViewDefinition, ViewUse
from changes import services
from changes.ddl.errors import DdlError
from changes.models import Change
from changes.submission import stored_views as views
from changes.submission.tables_ahead import Rows
from lab.management.commands.demo import drop_views_of
from tests.changes.referring import done

pytestmark = pytest.mark.django_db(transaction=True)
[MADE] = done(("CREATE TABLE t (id int PRIMARY KEY, a int, b text)",))


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 7, called t, at version 1; nobody works at changes."""
    monkeypatch.setattr("schemalab.celery.app.send_task", lambda *_, **__: None)
    monkeypatch.setattr("changes.submission.tables_ahead.estimate_rows", lambda *_: Rows(0, is_exact=True))
    first = replace(MADE, table_id=TableId(7), version=1)
    Table.objects.create(id=7, name="t", version=1, state=Table.State.LIVE)
    hashes = {"schema_hash": schema_hash(first), "sharding_hash": sharding_hash(first)}
    Descriptor.objects.create(table_id=7, version=1, body=first.to_json(), **hashes)


def view(*columns: str, name: str = "v") -> ViewDefinition:
    """A view of some columns of t."""
    ids = {column: MADE.column_named(column).id for column in columns}
    shown = tuple(ViewColumn(column, 25) for column in columns)
    return ViewDefinition(0, name, 0, f"SELECT {', '.join(columns)} FROM t", shown, (TableUse("t", TableId(7), ids),))


def made(*columns: str, name: str = "v", replaces: bool = False) -> None:
    views.create(view(*columns, name=name), replaces=replaces, who="ann")


def refused(work: object) -> str:
    with pytest.raises(DdlError) as caught:
        work()  # type: ignore[operator]
    return caught.value.sqlstate


def test_a_change_that_takes_away_what_a_view_reads_is_not_submitted() -> None:
    made("a")
    assert refused(lambda: services.submit("ALTER TABLE t DROP COLUMN a", who="bob")) == "2BP01"
    assert refused(lambda: services.submit("ALTER TABLE t ALTER a TYPE bigint", who="bob")) == "0A000"
    assert refused(lambda: services.submit("DROP TABLE t", who="bob")) == "2BP01"
    assert refused(lambda: services.preview("DROP TABLE t")) == "2BP01"
    assert Change.objects.count() == 0
    assert services.submit("ALTER TABLE t DROP COLUMN b", who="bob").pk


@pytest.mark.parametrize("statement", [
    "ALTER TABLE t DROP COLUMN a", "ALTER TABLE t ALTER a TYPE bigint", "DROP TABLE t",
])  # fmt: skip
def test_no_view_is_made_of_what_an_open_change_takes_away(statement: str) -> None:
    change = services.submit(statement, who="bob")
    assert refused(lambda: made("a")) == "55006"
    assert not stored_views()
    services.cancel(change.pk, who="bob")
    made("a")
    assert [one.name for one in stored_views()] == ["v"]


def test_a_change_of_other_columns_keeps_no_view_back() -> None:
    services.submit("ALTER TABLE t DROP COLUMN b, ADD COLUMN c int", who="bob")
    made("id", "a")


def test_a_view_that_is_replaced_lets_go_of_what_it_read() -> None:
    made("a", name="v")
    made("a", "b", name="v", replaces=True)
    assert [one.revision for one in stored_views()] == [2]
    assert refused(lambda: services.submit("ALTER TABLE t DROP COLUMN b", who="bob")) == "2BP01"
    assert refused(lambda: made("a", name="v", replaces=True)) == "42P16"
    views.drop(["v"], forgiving=False, cascades=False, who="ann")
    assert services.submit("ALTER TABLE t DROP COLUMN b", who="bob").pk


def test_who_made_a_view_is_in_the_story() -> None:
    made("a")
    views.rename("v", "w", forgiving=False, who="bob")
    views.drop(["w"], forgiving=False, cascades=False, who="cid")
    told = StoryEvent.objects.filter(kind__startswith="view").order_by("seq").values_list("kind", "payload")
    assert [(kind, payload["who"]) for kind, payload in told] == [
        ("view created", "ann"), ("view renamed", "bob"), ("view dropped", "cid")
    ]  # fmt: skip


def test_the_demo_is_loaded_anew_under_views() -> None:
    made("a")
    reader = ViewDefinition(
        0, "w", 0, "SELECT a FROM v", (ViewColumn("a", 25),), views=(ViewUse("v", stored_views()[0].view_id, 1),)
    )
    views.create(reader, replaces=False, who="ann")
    assert drop_views_of(["nowhere"]) == []
    assert drop_views_of(["t"]) == ["v"]
    assert not stored_views()
