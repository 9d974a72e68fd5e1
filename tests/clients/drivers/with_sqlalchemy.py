"""SQLAlchemy's Core and ORM, and Alembic's migrations."""

import datetime as dt
import sys
import tempfile
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

import sqlalchemy as sa
from across_changes import TITLE, Answer, across_changes
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from trial import DATABASE, HOST, PORT, USER, check, run, tried

DRIVER = sys.argv[1]
URL = f"postgresql+{DRIVER}://{USER}@{HOST}:{PORT}/{DATABASE}"
engine = sa.create_engine(URL)
at_once = engine.execution_options(isolation_level="AUTOCOMMIT")


class Base(DeclarativeBase):
    pass


class Team(Base):
    __tablename__ = f"team_{DRIVER}"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50), unique=True)
    made: Mapped[dt.datetime] = mapped_column(sa.DateTime(timezone=True), server_default=sa.func.now())
    people: Mapped[list["Player"]] = relationship(back_populates="team")


class Player(Base):
    __tablename__ = f"player_{DRIVER}"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.Text, index=True)
    score: Mapped[float | None]
    team_id: Mapped[int] = mapped_column(sa.ForeignKey(Team.id))
    team: Mapped[Team] = relationship(back_populates="people")


@tried("create_all: tables with a foreign key and an index")
def create() -> None:
    Base.metadata.drop_all(at_once)
    Base.metadata.create_all(engine)


@tried("the ORM: objects with relations, unit of work")
def orm() -> None:
    with Session(engine) as session:
        team = Team(name="blue", people=[Player(name="ann", score=1.5), Player(name="bob")])
        session.add(team)
        session.commit()
        check([p.name for p in session.get(Team, team.id).people], ["ann", "bob"])
        session.scalars(sa.select(Player).where(Player.name == "bob")).one().score = 2.5
        session.commit()
        check(session.scalar(sa.select(sa.func.sum(Player.score))), 4.0)


@tried("bulk insert (insertmanyvalues), returning, upsert")
def bulk() -> None:
    from sqlalchemy.dialects.postgresql import insert

    with engine.begin() as connection:
        made = connection.execute(sa.insert(Team).returning(Team.id), [{"name": f"t{n}"} for n in range(50)])
        check(len(made.fetchall()), 50)
        upsert = insert(Team).values(name="t1").on_conflict_do_nothing(index_elements=["name"])
        connection.execute(upsert)
        check(connection.scalar(sa.select(sa.func.count()).where(Team.name == "t1")), 1)


@tried("savepoints (begin_nested), rollback")
def nested() -> None:
    with Session(engine) as session:
        session.add(Team(name="kept"))
        session.flush()
        try:
            with session.begin_nested():
                session.add(Team(name="kept"))
                session.flush()
        except sa.exc.IntegrityError:
            pass
        session.commit()
        check(session.scalar(sa.select(sa.func.count()).where(Team.name == "kept")), 1)


@tried("inspection: tables, columns, keys, indexes")
def inspection() -> None:
    inspector = sa.inspect(engine)
    check(Team.__tablename__ in inspector.get_table_names(), True)
    check([c["name"] for c in inspector.get_columns(Player.__tablename__)], ["id", "name", "score", "team_id"])
    check(inspector.get_foreign_keys(Player.__tablename__)[0]["referred_table"], Team.__tablename__)
    check(inspector.get_indexes(Player.__tablename__)[0]["column_names"], ["name"])


@tried("views: made, listed, read, reflected")
def views() -> None:
    view = f"scores_{DRIVER}"
    with at_once.connect() as connection:
        connection.execute(sa.text(f"DROP VIEW IF EXISTS {view}"))
        connection.execute(
            sa.text(f"CREATE VIEW {view} AS SELECT name, score FROM {Player.__tablename__} WHERE score > 2")
        )
    inspector = sa.inspect(engine)
    check(view in inspector.get_view_names(), True)
    check(view in inspector.get_table_names(), False)
    check("score" in (inspector.get_view_definition(view) or ""), True)
    table = sa.Table(view, sa.MetaData(), autoload_with=engine)
    with at_once.connect() as connection:
        check(connection.execute(sa.select(table)).all(), [("bob", 2.5)])
        connection.execute(sa.text(f"DROP VIEW {view}"))


@tried("JSON and JSONB columns, found by a path")
def documents() -> None:
    table = sa.Table(
        f"notes_{DRIVER}", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("plain", sa.JSON),
        sa.Column("note", JSONB),
    )  # fmt: skip
    table.drop(at_once, checkfirst=True)
    table.create(engine)
    note = {"a": {"w": "wörd"}, "b": [1, None]}
    with engine.begin() as connection:
        connection.execute(sa.insert(table), {"id": 1, "plain": note, "note": note})
        check(connection.execute(sa.select(table.c.plain, table.c.note)).all(), [(note, note)])
        check(connection.scalar(sa.select(table.c.id).where(table.c.note["a"]["w"].astext == "wörd")), 1)
        check(connection.scalar(sa.select(table.c.id).where(table.c.note.contains({"b": [1]}))), 1)
    table.drop(at_once)


@tried("ARRAY columns: filled, any(), contains(), overlap(), unnest, reflected; Numeric, Interval, LargeBinary, Time")
def arrays() -> None:
    table = sa.Table(
        f"lists_{DRIVER}", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("n", ARRAY(sa.Integer)), sa.Column("w", sa.ARRAY(sa.String(20))), sa.Column("m", sa.Numeric(12, 3)),
        sa.Column("i", sa.Interval), sa.Column("b", sa.LargeBinary), sa.Column("t", sa.Time),
        sa.Column("at", TIMESTAMP(precision=3)), sa.Column("there", TIMESTAMP(timezone=True, precision=0)),
    )  # fmt: skip
    table.drop(at_once, checkfirst=True)
    table.create(engine)
    row = (
        1,
        [1, None, 3],
        ["a", 'b"c', "d,e"],
        Decimal("1.250"),
        dt.timedelta(days=1, hours=2),
        b"\x00\xff",
        dt.time(4, 5),
        dt.datetime(2026, 1, 1, 0, 0, 0, 123_500),  # noqa: DTZ001 - a timestamp without a zone
        dt.datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=dt.UTC),
    )
    rounded = (row[-2].replace(microsecond=124_000), row[-1].replace(second=1, microsecond=0))
    with engine.begin() as connection:
        connection.execute(sa.insert(table), dict(zip(table.c.keys(), row, strict=True)))
        found = connection.execute(sa.select(table)).one()
        check((*found[:5], bytes(found[5]), *found[6:]), (*row[:-2], *rounded))
        for asked in (table.c.w.any("d,e"), table.c.n.contains([3]), table.c.n.overlap([3, 9]), table.c.n[1] == 1,
                      sa.literal("a") == sa.any_(table.c.w)):  # fmt: skip
            check(connection.scalar(sa.select(table.c.id).where(asked)), 1)
        x = sa.func.unnest(table.c.n).column_valued("x")
        check(connection.scalar(sa.select(sa.func.sum(x)).select_from(table.join(x.scalar_alias, sa.true()))), 4)
        connection.execute(sa.update(table).values(n=[5]))
        check(connection.scalar(sa.select(sa.func.array_length(table.c.n, 1))), 1)
    shown = sa.Table(table.name, sa.MetaData(), autoload_with=engine)
    types = [c.type.compile(engine.dialect) for c in shown.columns]
    check(types[1:4], ["INTEGER[]", "VARCHAR(20)[]", "NUMERIC(12, 3)"])
    check(types[-2:], ["TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(0) WITH TIME ZONE"])
    with engine.connect() as connection:
        only = {"include_name": lambda name, kind, _: kind != "table" or name == table.name, "compare_type": True}
        check(compare_metadata(MigrationContext.configure(connection, opts=only), table.metadata), [])
    table.drop(at_once)


@tried("reflection, and autogenerate finds nothing to do")
def reflection() -> None:
    sa.MetaData().reflect(engine, only=[Team.__tablename__, Player.__tablename__])
    names = {Team.__tablename__, Player.__tablename__}
    with engine.connect() as connection:
        only = {"include_name": lambda name, kind, _: kind != "table" or name in names}
        check(compare_metadata(MigrationContext.configure(connection, opts=only), Base.metadata), [])


@tried("Alembic: upgrade over three revisions, downgrade")
def alembic() -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Config()
        config.set_main_option("script_location", folder)
        config.set_main_option("sqlalchemy.url", URL)
        table = f"moved_{DRIVER}"
        with at_once.connect() as connection:
            connection.execute(sa.text(f"DROP TABLE IF EXISTS {table}"))
            connection.execute(sa.text(f"DROP TABLE IF EXISTS alembic_{DRIVER}"))
        (Path(folder) / "versions").mkdir()
        env = ENV.format(url=URL, version_table=f"alembic_{DRIVER}")
        (Path(folder) / "env.py").write_text(env)
        for number, (up, down) in enumerate(REVISIONS, 1):
            text = REVISION.format(number=number, before=repr(str(number - 1)) if number > 1 else None,
                                   up=up.format(t=table), down=down.format(t=table))  # fmt: skip
            (Path(folder) / "versions" / f"r{number}.py").write_text(text)
        command.upgrade(config, "head")
        columns = [c["name"] for c in sa.inspect(engine).get_columns(table)]
        check(columns, ["id", "name", "score"])
        command.downgrade(config, "base")
        check(table in sa.inspect(engine).get_table_names(), False)


ENV = """
from alembic import context
import sqlalchemy as sa
with sa.create_engine("{url}").connect() as connection:
    connection.execute(sa.text("SET schemalab.autocommit_before_ddl = on"))
    connection.commit()
    context.configure(connection=connection, version_table="{version_table}", transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
"""
REVISION = """
revision, down_revision = "{number}", {before}
import sqlalchemy as sa
from alembic import op
def upgrade():
    {up}
def downgrade():
    {down}
"""
REVISIONS = [
    ("op.create_table('{t}', sa.Column('id', sa.Integer, primary_key=True), sa.Column('name', sa.String(20)))",
     "op.drop_table('{t}')"),
    ("op.add_column('{t}', sa.Column('score', sa.Integer, server_default='0', nullable=False))",
     "op.drop_column('{t}', 'score')"),
    ("op.create_index('{t}_name', '{t}', ['name'])", "op.drop_index('{t}_name', '{t}')"),
]  # fmt: skip


@tried("a statement that was used before, across a new column")
def change() -> None:
    query = sa.text(f"SELECT * FROM {Team.__tablename__} WHERE name = :name")
    with engine.connect() as connection:
        for _ in range(7):
            before = len(connection.execute(query, {"name": "blue"}).one())
            connection.rollback()
        with at_once.connect() as other:
            other.execute(sa.text(f"ALTER TABLE {Team.__tablename__} ADD COLUMN extra int DEFAULT 7"))
        try:
            connection.execute(query, {"name": "blue"})
        except sa.exc.DBAPIError as error:  # as PostgreSQL: the next try prepares it again
            check("cached plan must not change result type" in str(error), True)
        connection.rollback()
        check(len(connection.execute(query, {"name": "blue"}).one()), before + 1)


class Door:
    """A connection of an engine of its own; each statement in a transaction that is committed."""

    def __init__(self, port: int) -> None:
        self.connection = sa.create_engine(URL.replace(str(PORT), str(port))).connect()

    def ask(self, sql: str, values: dict[str, object]) -> Answer:
        with self.connection.begin():
            result = self.connection.execute(sa.text(sql), values)
            if not result.returns_rows:
                return Answer(None, [], result.rowcount)
            columns = tuple((column[0], column[1]) for column in result.cursor.description)
            rows = [tuple(row) for row in result]
            return Answer(columns, rows, len(rows))

    def prepare_again(self, sql: str) -> None:
        """Take another connection, as a pool does when one is not right any more."""
        self.connection.invalidate()
        self.connection.close()
        self.connection = self.connection.engine.connect()


def changed(port: int, sql: str) -> None:
    other = sa.create_engine(URL.replace(str(PORT), str(port)), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with other.connect() as connection:
        connection.execute(sa.text(sql))


@tried(TITLE)
def across() -> None:
    across_changes(f"across_{DRIVER}", Door, changed)


run(f"SQLAlchemy, {DRIVER}", f"{sa.__version__}, Alembic {version('alembic')}")
