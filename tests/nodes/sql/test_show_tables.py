"""What SHOW TABLES says of a table."""

from dataclasses import replace

from catalog.elements import ColumnId, Constraint, ConstraintId, Index, IndexColumn, IndexId, State
from nodes.sql.show_tables import HEADINGS, row_of, rows_of
from tests.references import airports, linked, trips
from tests.storage.stage import AGE, BY_NAME, NAME, users

ADULT = Constraint(ConstraintId(1), "adult", "check", (AGE,), f'"#{AGE}" >= 18', state=State.WRITE_ONLY)
KNOWN = Constraint(ConstraintId(2), "known", "not null", (NAME,), state=State.WRITE_ONLY)
ONE_NAME = Index(IndexId(2), "one_name", (IndexColumn(NAME),), unique=True, where=f'"#{AGE}" > 0')


def test_a_row_names_columns_indexes_and_constraints_with_their_states() -> None:
    plain = users(7)
    columns = tuple(replace(c, not_null=c.id in (AGE, ColumnId(1))) for c in plain.columns)
    table = replace(plain, columns=columns, indexes=(BY_NAME, ONE_NAME), constraints=(ADULT, KNOWN))
    assert dict(zip(HEADINGS, row_of(table), strict=True)) == {
        "table": "users",
        "version": "1",
        "columns": "id bigint, name text, age integer NOT NULL",
        "indexes": "by_name (delete-only), one_name",
        "constraints": "PRIMARY KEY (id), adult CHECK (age >= 18) (write-only), known NOT NULL name (write-only), "
        "one_name UNIQUE (name) WHERE age > 0",
    }


def test_without_indexes_there_is_nothing_to_name() -> None:
    assert row_of(users(7))[3:] == (None, "PRIMARY KEY (id)")


def test_a_foreign_key_names_where_it_leads_in_its_own_table_only() -> None:
    child, parent = linked(trips(), airports())
    (of_trips, of_airports) = rows_of([child, parent])
    assert of_trips[-1] == "PRIMARY KEY (id), trips_code_fkey FOREIGN KEY (code) REFERENCES airports (code)"
    assert "trips" not in str(of_airports)
