"""CREATE TABLE (LIKE ..) is written out: what is copied is what PostgreSQL copies, and nothing of a moving element."""

from dataclasses import replace

import pytest

from catalog.elements import Index, IndexColumn, IndexId, State
from catalog.view_definition import ViewDefinition
from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView
from changes.ddl.statements import parse
from changes.planning.copied_tables import copied
from changes.planning.table_in_transaction import new_table

SHOP = """CREATE TABLE shop (id int GENERATED ALWAYS AS IDENTITY, name varchar(20) NOT NULL DEFAULT 'x''y',
  sizes numeric(8,2)[] DEFAULT '{1}', town int, PRIMARY KEY (id), UNIQUE (name), CONSTRAINT big CHECK (town > 0))"""


def table(sql: str = SHOP):
    return new_table(parse(sql).action, 7)


def indexed():
    """The shop with a partial index, and comments."""
    shop = table()
    town = shop.column_named("town")
    index = Index(id=IndexId(9), name="by_town", columns=(IndexColumn(town.id, True),), where='"#4" > 5',
                  state=State.PUBLIC)  # fmt: skip
    columns = tuple(replace(c, comment="it's") if c is town else c for c in shop.columns)
    checks = tuple(replace(c, comment="why") for c in shop.constraints)
    return replace(shop, columns=columns, constraints=checks, indexes=(*shop.indexes, index))


def written(sql: str, *tables):
    return copied(sql, CatalogView(tables or (table(),)))


@pytest.mark.parametrize(("clause", "expected"), [
    pytest.param("LIKE shop", "id int NOT NULL, name varchar(20) NOT NULL, sizes numeric(8,2)[], town int",
                 id="columns and NOT NULL alone"),
    pytest.param("a int, LIKE shop INCLUDING DEFAULTS, z int",
                 "a int, id int NOT NULL, name varchar(20) NOT NULL DEFAULT 'x''y', sizes numeric(8,2)[] DEFAULT '{1}',"
                 " town int, z int", id="between others, with defaults"),
    pytest.param("LIKE shop INCLUDING IDENTITY INCLUDING CONSTRAINTS",
                 "id int GENERATED ALWAYS AS IDENTITY, name varchar(20) NOT NULL, sizes numeric(8,2)[], town int,"
                 " CONSTRAINT big CHECK (town > 0)", id="numbers and rules"),
    pytest.param("LIKE shop INCLUDING ALL EXCLUDING CONSTRAINTS EXCLUDING IDENTITY, CHECK (id > 3)",
                 "id int NOT NULL, name varchar(20) NOT NULL DEFAULT 'x''y', sizes numeric(8,2)[] DEFAULT '{1}',"
                 " town int, PRIMARY KEY (id), UNIQUE (name), CHECK (id > 3)", id="all but some"),
])  # fmt: skip
def test_a_table_is_written_out(clause: str, expected: str) -> None:
    found = written(f"CREATE TABLE t ({clause})")
    assert parse(found.create).action == parse(f"CREATE TABLE t ({expected})").action
    assert found.afterwards == ()


def test_what_the_statement_says_besides_stays() -> None:
    found = written("CREATE TEMP TABLE IF NOT EXISTS t (LIKE public.shop INCLUDING INDEXES) ON COMMIT DROP")
    read = parse(found.create)
    assert (read.forgiving, read.action.temporary, [name.text for name in read.action.primary_key]) == (
        True, "drop", ["id"],
    )  # fmt: skip
    spread = parse(written("CREATE TABLE t (LIKE shop) WITH (sharding_key = 'town')").create).action
    assert [name.text for name in spread.sharding_key] == ["town"]


def test_other_indexes_and_comments_follow_it() -> None:
    found = written('CREATE TABLE "T" (LIKE shop INCLUDING ALL)', indexed())
    assert found.afterwards == (
        'CREATE INDEX ON "T" ("town" DESC) WHERE town > 5',
        """COMMENT ON COLUMN "T"."town" IS 'it''s'""",
        """COMMENT ON CONSTRAINT "big" ON "T" IS 'why'""",
    )
    for text in found.afterwards:
        parse(text)
    assert written("CREATE TABLE t (LIKE shop INCLUDING INDEXES)", indexed()).afterwards == (
        'CREATE INDEX ON "t" ("town" DESC) WHERE town > 5',
    )


def test_a_unique_is_copied_as_such_and_a_unique_index_as_an_index() -> None:
    shop = table()
    town = IndexColumn(shop.column_named("town").id)
    index = Index(id=IndexId(9), name="shop_town_key", columns=(town,), unique=True, state=State.PUBLIC)
    found = written("CREATE TABLE t (LIKE shop INCLUDING INDEXES)", replace(shop, indexes=(*shop.indexes, index)))
    [unique] = parse(found.create).action.uniques
    assert [column.text for column in unique.columns] == ["name"]
    assert found.afterwards == ('CREATE UNIQUE INDEX ON "t" ("town")',)


def test_a_hidden_key_and_the_guard_of_another_spread_are_not_copied() -> None:
    bare = table("CREATE TABLE bare (a int, b text)")
    found = written("CREATE TABLE t (LIKE bare INCLUDING ALL)", bare)
    assert parse(found.create).action == parse("CREATE TABLE t (a int, b text)").action
    spread = table("CREATE TABLE spread (a int PRIMARY KEY, b int) WITH (sharding_key = 'b')")
    found = written("CREATE TABLE t (LIKE spread INCLUDING ALL)", spread)
    assert parse(found.create).action == parse("CREATE TABLE t (a int PRIMARY KEY, b int)").action


def test_the_first_table_of_a_name_counts() -> None:
    own = table("CREATE TABLE shop (a int PRIMARY KEY)")
    found = written("CREATE TABLE t (LIKE shop)", own, replace(table(), table_id=8))
    assert parse(found.create).action == parse("CREATE TABLE t (a int NOT NULL)").action


@pytest.mark.parametrize(("sql", "sqlstate", "message"), [
    ("CREATE TABLE t (LIKE nobody)", "42P01", 'relation "nobody" does not exist'),
    ("CREATE TABLE t (LIKE shop_name_key)", "42809", 'relation "shop_name_key" is invalid in LIKE clause'),
    ("CREATE TABLE t (LIKE seen)", "0A000", "which is a view"),
    ("CREATE TABLE t (LIKE pg_catalog.pg_class)", "0A000", "LIKE of a relation of pg_catalog"),
    ("CREATE TABLE t (LIKE x.shop)", "3F000", 'schema "x" does not exist'),
])  # fmt: skip
def test_what_cannot_be_copied_is_refused(sql: str, sqlstate: str, message: str) -> None:
    seen = ViewDefinition(view_id=1, name="seen", revision=1, query="SELECT 1", columns=())
    with pytest.raises(DdlError, match=message) as caught:
        copied(sql, CatalogView((table(),), views=(seen,)))
    assert caught.value.sqlstate == sqlstate
    assert caught.value.position == sql.index("(LIKE") + 7


@pytest.mark.parametrize("part", ["columns", "indexes", "constraints"])
def test_nothing_is_copied_while_an_element_moves(part: str) -> None:
    *others, last = getattr(table(), part)
    moving = replace(table(), **{part: (*others, replace(last, state=State.WRITE_ONLY))})
    with pytest.raises(DdlError, match=f"a change of {last.name} has not ended") as caught:
        written("CREATE TABLE t (LIKE shop)", moving)
    assert caught.value.sqlstate == "55006"
