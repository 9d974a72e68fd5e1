"""Reading DDL: what becomes an action, and what is refused with which code at which word (X5)."""

import pytest
from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, State, TableId
from catalog.values.types import SqlType, parse_text, type_name
from changes.ddl.actions import CreateIndex, CreateTable, DropIndex, DropTable, IndexPart, Name, NewColumn
from changes.ddl.columns import constant
from changes.ddl.errors import DdlError
from changes.ddl.refused import REFUSED_STATEMENTS
from changes.ddl.resolve import CatalogView, NothingToDo, implied_names, resolve, uniques_of
from changes.ddl.statements import STATEMENT_BYTES_MAX, Statement, parse


def users(**changes) -> Descriptor:
    """users (id primary key, name, born write-only) with an index by_name."""
    columns = (
        Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True),
        Column(ColumnId(2), "name", SqlType.TEXT),
        Column(ColumnId(3), "born", SqlType.DATE, state=State.WRITE_ONLY),
    )
    index = Index(IndexId(1), "by_name", (IndexColumn(ColumnId(2)),))
    body = {
        "table_id": TableId(7),
        "name": "users",
        "version": 3,
        "columns": columns,
        "primary_key": (ColumnId(1),),
        "indexes": (index,),
    }
    return Descriptor(**(body | changes))


VIEW = CatalogView((users(),), taken={"orders": "It is being dropped by change 4."})


def test_a_table_is_read_with_types_under_any_of_their_names():
    statement = parse(
        "CREATE TABLE public.people (id int8 PRIMARY KEY, n serial, ok bool NOT NULL DEFAULT true, "
        "w double precision DEFAULT 1, at timestamp with time zone, u uuid NULL)"
    )
    assert statement == Statement(
        CreateTable(
            Name("people"),
            (
                NewColumn(Name("id"), SqlType.BIGINT, not_null=True),
                NewColumn(Name("n"), SqlType.INTEGER, not_null=True, identity=True),
                NewColumn(Name("ok"), SqlType.BOOLEAN, not_null=True, default="true"),
                NewColumn(Name("w"), SqlType.DOUBLE, default="'1'::double precision"),
                NewColumn(Name("at"), SqlType.TIMESTAMPTZ),
                NewColumn(Name("u"), SqlType.UUID),
            ),
            (Name("id"),),
        )
    )


def test_options_say_how_rows_are_spread_and_a_key_that_does_not_say_where_gets_a_guard():
    sql = 'CREATE TABLE t (id int PRIMARY KEY, "At" text) WITH (sharding_key = \'"At", ID\', sharding_func = mpcrc32,'
    action = parse(f"{sql} coordination = 'hash')").action
    assert (action.sharding_key, action.sharding_function) == ((Name("At"), Name("id")), Name("mpcrc32"))
    assert action.coordination.value == "hash"
    assert [(one.columns, one.guards_key) for one in action.uniques] == [((Name("id"),), True)]
    assert [one.name.text for one in resolve(Statement(action), VIEW).uniques] == ["t_pkey_guard"]
    assert not parse(TABLE + "v int) WITH (sharding_key = 'id')").action.uniques
    [own] = parse(TABLE + "v int, UNIQUE (id)) WITH (sharding_key = 'v')").action.uniques
    assert not own.guards_key


@pytest.mark.parametrize(
    ("value", "column"),
    [('"At"', "At"), ("At", "at"), ("'At'", "at"), ("'\"At\"'", "At"), ("'É'", "É"), ("'" + "é" * 40 + "'", "é" * 31)],
)
def test_a_column_of_the_sharding_key_is_named_as_anywhere_in_sql(value: str, column: str) -> None:
    table = 'CREATE TABLE t (id int PRIMARY KEY, "At" text, at text, "É" text) WITH'
    assert parse(f"{table} (sharding_key = {value})").action.sharding_key == (Name(column),)


def test_a_key_named_at_the_end_makes_its_columns_not_null_and_keeps_its_order():
    action = parse("CREATE TABLE IF NOT EXISTS t (a int, b date, PRIMARY KEY (b, a))")
    assert action.forgiving
    assert action.action.primary_key == (Name("b"), Name("a"))
    assert [column.not_null for column in action.action.columns] == [True, True]


def test_positions_count_characters_not_bytes():
    action = parse('CREATE TABLE "äöü" ("ß" int, n text, PRIMARY KEY (n))').action
    assert action.table.position == 14
    assert action.columns[1].name.position == 30
    assert action.primary_key[0].position == 51


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        pytest.param(
            "CREATE INDEX CONCURRENTLY i ON users (name DESC, id ASC)",
            CreateIndex(Name("i"), Name("users"), (IndexPart(Name("name"), True), IndexPart(Name("id")))),
            id="concurrently is what we always do",
        ),
        pytest.param(
            "create index i on users using btree (name desc nulls first, id nulls last)",
            CreateIndex(Name("i"), Name("users"), (IndexPart(Name("name"), True), IndexPart(Name("id")))),
            id="the usual place for nulls may be said",
        ),
        pytest.param(
            "CREATE INDEX ON users (name, id)",
            CreateIndex(Name("users_name_id_idx"), Name("users"), (IndexPart(Name("name")), IndexPart(Name("id")))),
            id="an index without a name gets PostgreSQL's",
        ),
        pytest.param("DROP INDEX by_name", DropIndex(Name("by_name"), Name("users")), id="drop finds the table"),
        pytest.param('DROP TABLE "users" CASCADE', DropTable(Name("users")), id="nothing hangs on a table yet"),
        pytest.param("drop table USERS;", DropTable(Name("users")), id="names are folded"),
    ],
)
def test_a_statement_becomes_an_action(sql, expected):
    assert resolve(parse(sql), VIEW) == expected


def test_a_second_unnamed_index_gets_the_next_name():
    taken = Index(IndexId(1), "users_name_idx", (IndexColumn(ColumnId(2)),))
    view = CatalogView((users(indexes=(taken,)),))
    assert resolve(parse("CREATE INDEX ON users (name)"), view).index == Name("users_name_idx1")


def test_a_long_name_is_cut_so_that_its_tail_fits():
    name = "t" * 63
    view = CatalogView((users(name=name),))
    assert resolve(parse(f"CREATE INDEX ON {name} (name)"), view).index.text == "t" * 54 + "_name_idx"


NUMBERED = (
    Column(ColumnId(1), "b_c", SqlType.BIGINT, not_null=True, identity=True),
    Column(ColumnId(2), "b", SqlType.TEXT),
)


@pytest.mark.parametrize(
    ("sql", "implied"),
    [
        ("CREATE TABLE t (id serial PRIMARY KEY)", [None, None]),
        ("CREATE TABLE a_b (c serial PRIMARY KEY)", ["a_b_c_seq1", None]),
        ("CREATE TABLE t (a_b_c int GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME s), PRIMARY KEY (a_b_c))", ["s", None]),
        ("CREATE TABLE by_b (id int PRIMARY KEY)", ["by_b_pkey1"]),
        ("CREATE TABLE by_b (id int PRIMARY KEY, n int UNIQUE, CONSTRAINT by_b_pkey1 UNIQUE (n))", ["by_b_pkey2"]),
        (f"CREATE TABLE {'t' * 58}_pkey (id int PRIMARY KEY)", ["t" * 57 + "_pkey1"]),
        ("ALTER TABLE a ALTER b ADD GENERATED ALWAYS AS IDENTITY", [None]),
        ("ALTER TABLE a ALTER b ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME public.other)", ["other"]),
    ],
)
def test_a_name_that_is_taken_is_not_implied(sql, implied):
    keyed = Index(IndexId(1), "by_b_pkey", (IndexColumn(ColumnId(2)),))
    view = CatalogView((users(name="a", columns=NUMBERED, indexes=(keyed,)),))
    assert implied_names(resolve(parse(sql), view)) == implied


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("CREATE TABLE a_b_c_seq (id int PRIMARY KEY)", "a_b_c_seq"),
        ("CREATE TABLE a_pkey (id int PRIMARY KEY)", "a_pkey"),
        ("CREATE INDEX a_pkey ON a (b)", "a_pkey"),
        ("ALTER TABLE a RENAME TO a_pkey", "a_pkey"),
        ("CREATE TABLE t (id int PRIMARY KEY, CONSTRAINT a_b_c_seq UNIQUE (id))", "a_b_c_seq"),
        ("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME a_pkey) PRIMARY KEY)", "a_pkey"),
        ("ALTER TABLE a ALTER b ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME a_pkey)", "a_pkey"),
    ],
)
def test_an_implied_name_cannot_be_taken(sql, name):
    with pytest.raises(DdlError, match=f'relation "{name}" already exists') as refused:
        resolve(parse(sql), CatalogView((users(name="a", columns=NUMBERED, indexes=()),)))
    assert refused.value.sqlstate == "42P07"


@pytest.mark.parametrize(
    ("sql", "notice"),
    [
        ("CREATE TABLE IF NOT EXISTS users (id int PRIMARY KEY)", 'relation "users" already exists, skipping'),
        ("CREATE TABLE IF NOT EXISTS users (id int)", 'relation "users" already exists, skipping'),
        ("DROP TABLE IF EXISTS nobody", 'table "nobody" does not exist, skipping'),
        ("DROP INDEX IF EXISTS nothing", 'index "nothing" does not exist, skipping'),
        ("CREATE INDEX IF NOT EXISTS by_name ON users (id)", 'relation "by_name" already exists, skipping'),
        ("ALTER TABLE IF EXISTS nobody ADD x int", 'relation "nobody" does not exist, skipping'),
        ("ALTER INDEX IF EXISTS nothing RENAME TO x", 'index "nothing" does not exist, skipping'),
    ],
)
def test_a_forgiving_statement_with_nothing_to_do_is_a_notice(sql, notice):
    with pytest.raises(NothingToDo, match=notice):
        resolve(parse(sql), VIEW)


@pytest.mark.parametrize("kind", REFUSED_STATEMENTS)
def test_what_is_refused_names_a_kind_of_statement(kind: str) -> None:
    assert kind in pb.Node.DESCRIPTOR.fields_by_name


@pytest.mark.parametrize(("sql", "hint"), [
    ("CREATE TYPE mood AS ENUM ('ok', 'it''s')", "mood text CHECK (mood IN ('ok', 'it''s'))"),
    ("CREATE TYPE mood AS ENUM ()", "Use text with a CHECK"),
    ("CREATE DOMAIN d AS int CHECK (VALUE > 0)", "Use its type, with its CHECK"),
    ("GRANT ALL ON users TO ann", "roles of people"),
    ("REVOKE ann FROM bob", "roles of people"),
    ("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO ann", "roles of people"),
    ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "Nodes run no code"),
    ("CREATE EXTENSION pgcrypto", "gen_random_uuid"),
])  # fmt: skip
def test_a_refusal_says_what_to_use_instead(sql: str, hint: str) -> None:
    with pytest.raises(DdlError) as caught:
        parse(sql)
    assert hint in (caught.value.hint or "")


def test_an_unlogged_table_is_logged() -> None:
    read = parse("CREATE UNLOGGED TABLE t (id int PRIMARY KEY)")
    assert read.action == parse("CREATE TABLE t (id int PRIMARY KEY)").action
    assert read.notices == ('table "t" is logged all the same: every table here survives a crash',)


TABLE = "CREATE TABLE t (id bigint PRIMARY KEY, "
LONG_LIST = ", ".join(f"c{n}" for n in range(33))


@pytest.mark.parametrize(("written", "kept"), [
    ("'a '::char(5)", "'a'"), ("'abcd'::varchar(2)", "'ab'"), ("'ab  c'::char(4)", "'ab'"),
    ("'a '::varchar(5)", "'a '"), ("'abc'::varchar", "'abc'"), ("'abc'::char", "'a'"), ("'a '::char(5)::text", "'a'"),
])  # fmt: skip
def test_a_default_is_cut_by_its_own_cast_before_its_column_takes_it(written: str, kept: str) -> None:
    action = parse(f"{TABLE}v varchar(3) DEFAULT {written})").action
    assert action.columns[1].default == kept


NEW = "CREATE TABLE t (id int PRIMARY KEY, v double precision) WITH "


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message", "at"),
    [
        ("", "42601", "there is no statement", None),
        ("-- nothing", "42601", "there is no statement", None),
        ("CREATE TABEL t (a int)", "42601", 'syntax error at or near "TABEL"', "TABEL"),
        ("select 'ä' frm |frm x", "42601", 'syntax error at or near "frm"', "|"),
        ("CREATE TABLE t (id int PRIMARY KEY); |DROP TABLE users", "42601", "one statement at a time", "|"),
        ("  SELECT 1", "0A000", "does not change a schema", "SELECT"),
        (" BEGIN", "0A000", "does not change a schema", "BEGIN"),
        ("/* c */ ALTER VIEW users RENAME TO x", "0A000", "RENAME of a VIEW is not supported yet", "RENAME"),
        ("ALTER INDEX by_name SET (fillfactor = 10)", "0A000", "ALTER INDEX is not supported yet", "ALTER"),
        ("CREATE VIEW v AS SELECT 1", "0A000", "CREATE VIEW is not supported yet", "CREATE"),
        ("DROP VIEW v", "0A000", "DROP VIEW is not supported yet", "DROP"),
        ("DROP TABLE users, other", "0A000", "one change that drops several TABLES", "other"),
        ("CREATE TABLE x.t (id int PRIMARY KEY)", "3F000", 'schema "x" does not exist', "x.t"),
        ("CREATE TABLE t (LIKE |users)", "0A000", "LIKE as a change is not supported yet", "|"),
        ("CREATE TYPE mood AS ENUM ('ok')", "0A000", "CREATE TYPE .. AS ENUM is not supported yet", "CREATE"),
        ("GRANT SELECT ON users TO ann", "0A000", "GRANT or REVOKE is not supported yet", "GRANT"),
        ("CREATE TABLE |t ()", "0A000", "a table without columns is not supported", "|"),
        ("CREATE TABLE t (id int PRIMARY KEY, |b int PRIMARY KEY)", "42P16", "multiple primary keys", "|"),
        (TABLE + "|PRIMARY KEY (id))", "42P16", "multiple primary keys", "|"),
        ("CREATE TABLE t (id int, PRIMARY KEY (|nope))", "42703", 'column "nope" named in key does not exist', "|"),
        ("CREATE TABLE t (id int, PRIMARY KEY (id, id))", "42701", "appears twice in primary key", None),
        (TABLE + "|id text)", "42701", 'column "id" specified more than once', "|"),
        (TABLE + "v |varchar(0))", "22023", "length for type varchar must be at least 1", "|"),
        (TABLE + "v |char(10485761))", "22023", "length for type char cannot exceed 10485760", "|"),
        (TABLE + "v |bpchar)", "0A000", "type bpchar without a length", "|"),
        (TABLE + "v varchar(2) DEFAULT |'abc')", "22001", "value too long for type character varying(2)", "|"),
        (TABLE + "v |numeric(0))", "22023", "NUMERIC precision 0 must be between 1 and 1000", "|"),
        (TABLE + "v |numeric(5, 1001))", "22023", "NUMERIC scale 1001 must be between -1000 and 1000", "|"),
        (TABLE + "v |numeric(1, 2, 3))", "22023", "invalid NUMERIC type modifier", "|"),
        (TABLE + "v numeric(3,1) DEFAULT |100)", "22003", "numeric field overflow", "|"),
        (TABLE + "v smallint DEFAULT |40000)", "22003", "smallint out of range", "|"),
        (TABLE + 'v |"timestamp"(-1))', "22023", "TIMESTAMP(-1) precision must not be negative", "|"),
        (TABLE + "v |timestamptz(-2))", "22023", "TIMESTAMP(-2) WITH TIME ZONE precision must not be negative", "|"),
        (TABLE + 'v |"time"(1, 2))', "22023", "invalid type modifier", "|"),
        (TABLE + "v |\"time\"('3'))", "22023", "invalid type modifier", "|"),
        (TABLE + "v |interval(3))", "0A000", "a precision or fields for type interval", "|"),
        (TABLE + "v |interval day to second)", "0A000", "a precision or fields for type interval", "|"),
        (TABLE + "v timestamp(3) DEFAULT |'9999-12-31 23:59:59.9999')", "22008", "timestamp out of range", "|"),
        (TABLE + "v |int[][])", "0A000", "an array of arrays", "|"),
        (TABLE + "v |char(3)[])", "0A000", "an array of char", "|"),
        (TABLE + "v |serial[])", "0A000", "array of serial is not implemented", "|"),
        (TABLE + "v int[] DEFAULT |'{x}')", "22P02", "invalid input syntax for type integer", "|"),
        (TABLE + "v |nope)", "42704", 'type "nope" does not exist', "|"),
        (TABLE + "v int |CHECK (v > 0) NO INHERIT)", "0A000", "NO INHERIT is not supported yet", "|"),
        (TABLE + "v int, |CHECK (v > 0) NOT VALID)", "0A000", "NOT VALID is not supported yet", "|"),
        (TABLE + "v int |UNIQUE NULLS NOT DISTINCT)", "0A000", "NULLS NOT DISTINCT is not supported yet", "|"),
        (TABLE + "v int, |EXCLUDE (v WITH =))", "0A000", "EXCLUDE is not supported yet", "|"),
        (TABLE + "v int, CONSTRAINT |by_name UNIQUE (v))", "42P07", 'relation "by_name" already exists', "|"),
        (TABLE + "v int |GENERATED ALWAYS AS (id + 1) STORED)", "0A000", "a generated column", "|"),
        (TABLE + "v int |GENERATED ALWAYS AS IDENTITY (INCREMENT BY -1))", "0A000", "INCREMENT -1, a sequence", "|"),
        (TABLE + "v int |GENERATED ALWAYS AS IDENTITY (MINVALUE 5))", "0A000", "MINVALUE 5, a sequence option", "|"),
        (TABLE + "v int |GENERATED ALWAYS AS IDENTITY (MAXVALUE 99))", "0A000", "MAXVALUE 99, a sequence option", "|"),
        (TABLE + "v int |GENERATED ALWAYS AS IDENTITY (CYCLE))", "0A000", "CYCLE, a sequence option", "|"),
        (TABLE + "v int |GENERATED ALWAYS AS IDENTITY (START 0))", "22023", "cannot be less than MINVALUE (1)", "|"),
        (TABLE + "v int2 |GENERATED ALWAYS AS IDENTITY (START 40000))", "22023", "greater than MAXVALUE (32767)", "|"),
        (TABLE + "v text |GENERATED BY DEFAULT AS IDENTITY)", "22023", "identity column type must be", "|"),
        (TABLE + 'v text |COLLATE "C")', "0A000", "COLLATE is not supported yet", "|"),
        (TABLE + "v int NULL |NOT NULL)", "42601", "conflicting NULL/NOT NULL declarations", "|"),
        (TABLE + "v int DEFAULT 1 |DEFAULT 2)", "42601", "multiple default values specified", "|"),
        (TABLE + "v text DEFAULT |set_config('a.b', 'c', false))", "0A000", "a volatile default set_config()", "|"),
        (TABLE + "v int[] DEFAULT |array_shuffle('{1,2}'::int[]))", "0A000", "a volatile default array_shuffle()", "|"),
        (TABLE + "v int DEFAULT |gen_random_uuid())", "42804", "but default expression is of type uuid", "|"),
        (TABLE + "v bigint DEFAULT |id + 1)", "0A000", "a default cannot read a column", "|"),
        (TABLE + "v bigint DEFAULT |now())", "42804", "default expression is of type timestamp with time zone", "|"),
        (TABLE + "v bigint DEFAULT |(SELECT 1))", "0A000", "a subquery in a default", "|"),
        (TABLE + "v int DEFAULT |'x')", "22P02", 'invalid input syntax for type integer: "x"', "|"),
        (TABLE + "v int DEFAULT |3000000000)", "22003", "integer out of range", "|"),
        (TABLE + "v bigint DEFAULT |99999999999999999999)", "22003", "bigint out of range", "|"),
        (TABLE + "v boolean DEFAULT |1)", "42804", "is of type boolean but default expression is of", "|"),
        (TABLE + "v date DEFAULT |1::bigint)", "42804", "is of type date but default expression is of", "|"),
        (TABLE + "v date DEFAULT |'today')", "0A000", "a default that is the time of this statement", "|"),
        ("CREATE TABLE |t (id int PRIMARY KEY) PARTITION BY RANGE (id)", "0A000", "PARTITION BY", "|"),
        (NEW + "(|fancy = 70)", "22023", 'unrecognized parameter "fancy"', "|"),
        (NEW + "(|a.sharding_key = 'id')", "22023", 'unrecognized parameter "a.sharding_key"', "|"),
        (NEW + "(sharding_key = 'id', |sharding_key = 'id')", "22023", "specified more than once", "|"),
        (NEW + "(|sharding_key = 'id,')", "22023", "'id,' is no list of columns", "|"),
        (NEW + "(|sharding_key = ' ')", "22023", "' ' is no list of columns", "|"),
        (NEW + "(|sharding_key = 'id, ID')", "42701", 'column "id" appears twice in the sharding key', "|"),
        (NEW + f"(|sharding_key = '{','.join(f'c{n}' for n in range(33))}')", "54011", "more than 32 columns", "|"),
        (f"CREATE INDEX i ON |users ({LONG_LIST})", "54011", "cannot use more than 32 columns in an index", "|"),
        (f"CREATE TABLE t (id int, |PRIMARY KEY ({LONG_LIST}))", "54011", "32 columns in an index", "|"),
        (TABLE + f"|UNIQUE ({LONG_LIST}))", "54011", "32 columns in an index", "|"),
        (f"ALTER TABLE users ADD |UNIQUE ({LONG_LIST})", "54011", "32 columns in an index", "|"),
        (f"ALTER TABLE users ADD |PRIMARY KEY ({LONG_LIST})", "54011", "32 columns in an index", "|"),
        (TABLE + f"|FOREIGN KEY ({LONG_LIST}) REFERENCES users)", "54011", "32 columns in a foreign key", "|"),
        (NEW + f"(|sharding_key = '{'a b' * 999}')", "22023", f"'{('a b' * 40)[:100]}..' is no list", "|"),
        (NEW + "(|sharding_key = id[])", "22023", 'invalid value for parameter "sharding_key"', "|"),
        (NEW + "(|sharding_key = id(3))", "22023", 'invalid value for parameter "sharding_key"', "|"),
        (NEW + "(|sharding_key = setof id)", "22023", 'invalid value for parameter "sharding_key"', "|"),
        (NEW + "(|sharding_key = 7)", "22023", 'invalid value for parameter "sharding_key"', "|"),
        (NEW + "(|coordination = 'hope')", "22023", "'hope'", "|"),
        ("CREATE TABLE |t (id int PRIMARY KEY) INHERITS (users)", "0A000", "INHERITS", "|"),
        ("CREATE TABLE |users (id int PRIMARY KEY)", "42P07", 'relation "users" already exists', "|"),
        ("CREATE TABLE |by_name (id int PRIMARY KEY)", "42P07", 'relation "by_name" already exists', "|"),
        ("CREATE TABLE |orders (id int PRIMARY KEY)", "42P07", 'relation "orders" already exists', "|"),
        ("CREATE INDEX |by_name ON users (id)", "42P07", 'relation "by_name" already exists', "|"),
        ("CREATE INDEX i ON |nobody (id)", "42P01", 'relation "nobody" does not exist', "|"),
        ("CREATE INDEX i ON |by_name (id)", "42809", 'cannot create index on relation "by_name"', "|"),
        ("CREATE INDEX i ON users (|nope)", "42703", 'column "nope" does not exist', "|"),
        ("CREATE INDEX i ON users (|born)", "42703", 'column "born" does not exist', "|"),
        ("CREATE INDEX i ON users (name, id, name)", "42701", 'column "name" appears twice', None),
        ("CREATE UNIQUE INDEX i ON users (name) |NULLS NOT DISTINCT", "0A000", "NULLS NOT DISTINCT", "|"),
        ("ALTER TABLE |nobody ADD x int", "42P01", 'relation "nobody" does not exist', "|"),
        ("ALTER TABLE |by_name ADD x int", "42809", '"by_name" is not a table', "|"),
        ("ALTER TABLE users RENAME TO |by_name", "42P07", 'relation "by_name" already exists', "|"),
        ("ALTER TABLE users RENAME TO |orders", "42P07", 'relation "orders" already exists', "|"),
        ("ALTER INDEX by_name RENAME TO |users", "42P07", 'relation "users" already exists', "|"),
        ("ALTER INDEX |nothing RENAME TO x", "42704", 'index "nothing" does not exist', "|"),
        ("ALTER TABLE |nobody RENAME CONSTRAINT a TO b", "42P01", 'relation "nobody" does not exist', "|"),
        ("ALTER TABLE users ADD CONSTRAINT |by_name UNIQUE (id)", "42P07", 'relation "by_name" already exists', "|"),
        ("ALTER TABLE users ADD |x int PRIMARY KEY", "0A000", "a change of the primary key's columns", "|"),
        ("ALTER TABLE users SET (|buckets = 4)", "22023", 'unrecognized parameter "buckets"', "|"),
        ("ALTER TABLE users SET (sharding_func = mpcrc32, |coordination = 'hash')", "0A000", "together with how", "|"),
        ("ALTER TABLE users SET (|coordination = 'hope')", "22023", "'hope'", "|"),
        ("ALTER TABLE users ALTER name TYPE |inet", "0A000", "type inet is not supported yet", "|"),
        ("ALTER TABLE users ALTER name TYPE |serial", "0A000", "serial as the new type of a column", "|"),
        (
            "ALTER TABLE users |ALTER id ADD GENERATED ALWAYS AS IDENTITY (INCREMENT BY 5)",
            "0A000",
            "INCREMENT 5, a sequence option",
            "|",
        ),
        ("ALTER TABLE users |DISABLE TRIGGER ALL", "0A000", "ALTER TABLE .. DISABLE TRIG ALL is not", "|"),
        ("CREATE INDEX i ON users (|lower(name))", "0A000", "an index over an expression", "|"),
        ("CREATE INDEX i ON users (name) |INCLUDE (id)", "0A000", "INCLUDE", "|"),
        ("CREATE INDEX i ON users USING |gin (name)", "0A000", "an index USING gin", "|"),
        ("CREATE INDEX i ON users (|name NULLS FIRST)", "0A000", "another place for NULLs", "|"),
        ('CREATE INDEX i ON users (|name COLLATE "C")', "0A000", "COLLATE or an operator class", "|"),
        ("DROP INDEX |nothing", "42704", 'index "nothing" does not exist', "|"),
        ("DROP INDEX |users", "42809", '"users" is not an index', "|"),
        ("DROP TABLE |nobody", "42P01", 'table "nobody" does not exist', "|"),
        ("DROP TABLE |by_name", "42809", '"by_name" is not a table', "|"),
    ],
)
def test_a_bad_statement_is_refused_with_code_and_place(sql, sqlstate, message, at):
    position = None if at is None else sql.index(at) + 1
    text = sql.replace("|", "")
    with pytest.raises(DdlError) as caught:
        resolve(parse(text), VIEW)
    assert caught.value.sqlstate == sqlstate
    assert message in caught.value.message
    assert position is None or caught.value.position == position


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("ALTER TABLE users ADD UNIQUE (name), ADD x int UNIQUE", ["users_name_key", "users_x_key"]),
        ("ALTER TABLE users ADD UNIQUE (id), ADD UNIQUE (id)", ["users_id_key", "users_id_key1"]),
        ("ALTER TABLE users ADD CONSTRAINT one UNIQUE (id)", ["one"]),
        ("CREATE TABLE t (id int PRIMARY KEY, a int UNIQUE, UNIQUE (a, id))", ["t_a_id_key", "t_a_key"]),
    ],
)
def test_every_unique_gets_a_name_of_its_own(sql, names):
    assert [unique.name.text for unique in uniques_of(resolve(parse(sql), VIEW))] == names


def test_six_digits_of_a_second_are_what_an_interval_has():
    assert parse(TABLE + "v interval(6), w interval(6)[])") == parse(TABLE + "v interval, w interval[])")


@pytest.mark.parametrize(
    ("written", "named", "warning"),
    [
        ("timestamp(3)", "timestamp(3)", None),
        ("timestamp(0) without time zone", "timestamp(0)", None),
        ("timestamp(3) with time zone", "timestamptz(3)", None),
        ("timestamptz(6)", "timestamptz(6)", None),
        ("time(0)", "time(0)", None),
        ("timestamp(3)[]", "timestamp(3)[]", None),
        ("timestamp(7)", "timestamp(6)", "TIMESTAMP(7) precision reduced to maximum allowed, 6"),
        ("timestamptz(8)", "timestamptz(6)", "TIMESTAMP(8) WITH TIME ZONE precision reduced to maximum allowed, 6"),
        ("time(9)", "time(6)", "TIME(9) precision reduced to maximum allowed, 6"),
    ],
)
def test_a_time_has_the_precision_that_is_written(written, named, warning):
    """0 is one, too."""
    read = parse(TABLE + f"v {written})")
    column = read.action.columns[1]
    assert type_name(column.type, column.length) == named
    assert (read.notices, read.warnings) == ((), () if warning is None else (warning,))


def test_a_hint_says_what_to_use_instead():
    with pytest.raises(DdlError) as caught:
        parse(TABLE + "v inet)")
    assert caught.value.hint == "Use text."


def test_a_name_being_given_up_is_refused_with_the_reason():
    with pytest.raises(DdlError) as caught:
        resolve(parse("CREATE TABLE IF NOT EXISTS orders (id int PRIMARY KEY)"), VIEW)
    assert caught.value.hint == "It is being dropped by change 4."


def test_a_statement_beyond_the_limit_is_not_read():
    with pytest.raises(DdlError, match="statement is too long"):
        parse("CREATE INDEX i ON t (" + " " * STATEMENT_BYTES_MAX + "a)")


@pytest.mark.parametrize(
    "deep", ["-x(" * 300 + "1" + ")" * 300, "(" * 30_000 + "1" + ")" * 30_000], ids=["tree", "text"]
)
def test_a_statement_nested_too_deeply_is_refused_in_words(deep):
    with pytest.raises(DdlError, match="nested too deeply"):
        parse(TABLE + f"v int DEFAULT {deep})")


@pytest.mark.parametrize(
    ("sql_type", "text", "spelling"),
    [
        (SqlType.BOOLEAN, "f", "false"),
        (SqlType.SMALLINT, "-5", "-5"),
        (SqlType.INTEGER, "-5", "-5"),
        (SqlType.REAL, "0.1", "'0.1'::real"),
        (SqlType.BIGINT, "9223372036854775807", "9223372036854775807"),
        (SqlType.DOUBLE, "-1.5e+300", "'-1.5e+300'::double precision"),
        (SqlType.TEXT, "it's 'quoted'", "'it''s ''quoted'''"),
        (SqlType.DATE, "2024-02-29", "'2024-02-29'::date"),
        (SqlType.TIMESTAMP, "2024-02-29 12:00:00.5", "'2024-02-29 12:00:00.5'::timestamp"),
        (SqlType.TIMESTAMPTZ, "2024-02-29 12:00:00+02", "'2024-02-29 10:00:00+00'::timestamptz"),
        (SqlType.UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid"),
    ],
)
def test_a_constant_has_one_spelling(sql_type, text, spelling):
    assert constant(sql_type, parse_text(sql_type, text)) == spelling


@pytest.mark.parametrize("state", [State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC])
def test_a_misspelt_name_has_a_hint_at_what_is_public_alone(state: State):
    is_public = state is State.PUBLIC
    index = Index(IndexId(1), "by_name", (IndexColumn(ColumnId(2)),), state=state)
    with pytest.raises(DdlError) as refused:
        resolve(parse("DROP INDEX by_nam"), CatalogView((users(indexes=(index,)),)))
    assert refused.value.hint == ('Perhaps you meant the index "by_name".' if is_public else None)
    if state is not State.WRITE_ONLY:  # no table is that
        with pytest.raises(DdlError) as refused:
            resolve(parse("DROP TABLE userz"), CatalogView((users(state=state),)))
        assert refused.value.hint == ('Perhaps you meant the table "users".' if is_public else None)
