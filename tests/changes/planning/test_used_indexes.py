"""ADD PRIMARY KEY and UNIQUE USING INDEX beside other clauses of one statement."""

from dataclasses import replace

import pytest

from changes.ddl.errors import DdlError
from changes.plan.undo import undo_of
from changes.planning.tables import KnownTables
from tests.changes import referring
from tests.changes.referring import linked
from tests.changes.tables import keyless_notes, planned


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("ADD PRIMARY KEY USING INDEX one_note, ADD PRIMARY KEY (n)", "42P16", "multiple primary keys"),
        ("ADD PRIMARY KEY (n), ADD PRIMARY KEY USING INDEX one_note", "42P16", "multiple primary keys"),
        ("ADD CONSTRAINT w UNIQUE USING INDEX one_note, ADD CONSTRAINT w UNIQUE (n)", "42710", 'constraint "w" for'),
        (
            "ADD CONSTRAINT v UNIQUE USING INDEX one_note, ADD CONSTRAINT w UNIQUE USING INDEX one_note",
            "55000",
            'index "one_note" is already associated with a constraint',
        ),
    ],
)
def test_an_index_that_a_constraint_uses_counts_for_the_rest_of_the_statement(
    sql: str, sqlstate: str, message: str
) -> None:
    with pytest.raises(DdlError, match=message) as refused:
        planned(f"ALTER TABLE notes {sql}", keyless_notes())
    assert refused.value.sqlstate == sqlstate


def test_the_undo_beside_an_index_that_a_constraint_uses_is_of_both() -> None:
    added = "ADD COLUMN z text"
    of_key = undo_of(planned(f"ALTER TABLE notes ADD PRIMARY KEY USING INDEX one_note, {added}", keyless_notes()))
    back = 'DROP COLUMN "z", DROP CONSTRAINT "one_note", ALTER COLUMN "at" DROP NOT NULL'
    assert of_key.statement == f'ALTER TABLE "notes" {back}'
    assert of_key.warning.endswith('CREATE UNIQUE INDEX "one_note" ON "notes" ("at", "n")')
    named = planned(f"ALTER TABLE notes ADD CONSTRAINT u UNIQUE USING INDEX one_note, {added}", keyless_notes())
    assert undo_of(named).statement == 'ALTER TABLE "notes" DROP COLUMN "z", DROP CONSTRAINT "u"'
    assert undo_of(named).warning.endswith('CREATE UNIQUE INDEX "one_note" ON "notes" ("at", "n")')


@pytest.mark.parametrize("added", ["ADD UNIQUE USING INDEX one_note", "ADD CONSTRAINT u UNIQUE USING INDEX one_note"])
def test_an_index_that_a_unique_used_is_none_again_after_the_undo(added: str) -> None:
    base = keyless_notes()
    change = planned(f"ALTER TABLE notes {added}", base)
    assert [index.is_constraint for index in change.result.public_indexes] == [True]
    undo = undo_of(change)
    table = planned(undo.statement, change.result).result
    table = planned(undo.warning.removeprefix("Statements of their own, afterwards: "), table).result
    [before], [after] = base.public_indexes, table.public_indexes
    assert replace(after, id=before.id) == before


@pytest.mark.parametrize("added", ["ADD UNIQUE (at)", "ADD CONSTRAINT one_at UNIQUE (at)"])
def test_the_index_of_a_unique_goes_with_it_alone(added: str) -> None:
    base = keyless_notes()
    change = planned(f"ALTER TABLE notes {added}", base)
    name = next(index.name for index in change.result.indexes if index not in base.indexes)
    with pytest.raises(DdlError, match=f"because constraint {name} on table notes requires it") as refused:
        planned(f"DROP INDEX {name}", change.result)
    assert refused.value.sqlstate == "2BP01"
    assert refused.value.hint == f"You can drop constraint {name} on table notes instead."
    assert planned(undo_of(change).statement, change.result).result.indexes == base.indexes


def test_the_plan_and_its_undo_name_the_foreign_key_that_stands_on_a_used_index() -> None:
    change = referring.planned("ALTER TABLE airports ADD CONSTRAINT one_city UNIQUE USING INDEX by_city", linked())
    said = "It can be undone only once foreign key in_city of trips, which refers by one_city, is dropped."
    assert change.dangers[-1:] == (said,)
    undo = undo_of(change, KnownTables(linked()))
    assert undo.warning.startswith(f"{said} Statements of their own, afterwards: CREATE UNIQUE INDEX ")
    tables = referring.after(change, linked())
    with pytest.raises(DdlError, match="depend on it: foreign key in_city of trips"):
        referring.planned(undo.statement, tables)
    free = referring.done(("ALTER TABLE trips DROP CONSTRAINT in_city",), tables)
    referring.planned(undo.statement, free)
    assert said not in undo_of(change, KnownTables(free)).warning
    assert (
        "undone" not in undo_of(planned("ALTER TABLE notes ADD UNIQUE USING INDEX one_note", keyless_notes())).warning
    )
