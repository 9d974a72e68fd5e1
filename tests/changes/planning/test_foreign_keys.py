"""Foreign keys as changes: both tables' versions, refusals, the rollback from every point, undo, what is not safe."""

from dataclasses import replace
from itertools import combinations

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, PRIMARY, REFERENCED, State, TableId
from changes.ddl.actions import Name, NewForeignKey
from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView
from changes.ddl.statements import parse
from changes.pages import preview
from changes.plan.element_states import partner_of, state_of
from changes.plan.model import MoveKind, Plan, StepKind, describe, plan_from_json
from changes.plan.rollback import moving, partners_after, rollback_steps
from changes.planning.custom_plan import rewritten
from changes.planning.tables import KnownTables
from changes.review.check import find_faults, step_faults
from tests.changes.referring import (
    EVERY_KIND,
    KINDS,
    PLANS,
    Tables,
    after,
    done,
    faults,
    linked,
    named,
    planned,
    unlinked,
    words,
)
from tests.rounds import every

A, W, P = State.ABSENT, State.WRITE_ONLY, State.PUBLIC


# --- the steps


def test_both_tables_have_a_version_wherever_the_foreign_key_moves() -> None:
    assert words(PLANS["to the primary key"]) == [
        "publish trips@8 and airports@5: foreign key trips_code_fkey absent -> write-only",
        "wait until no version before trips@8 or airports@5 is in use",
        "verify foreign key trips_code_fkey",
        "close the run",
        "publish trips@9 and airports@6: foreign key trips_code_fkey write-only -> public",
        "wait until no version before trips@9 or airports@6 is in use",
    ]


def test_a_required_column_is_filled_before_its_foreign_key_is_verified() -> None:
    assert words(PLANS["a required column that refers"]) == [
        "publish trips@8: column dest absent -> delete-only",
        "wait until no version before trips@8 is in use",
        "publish trips@9 and airports@5: column dest delete-only -> write-only, "
        "foreign key trips_dest_fkey absent -> write-only",
        "wait until no version before trips@9 or airports@5 is in use",
        "fill column dest",
        "verify column dest, foreign key trips_dest_fkey",
        "close the run",
        "publish trips@10 and airports@6: column dest write-only -> public, "
        "foreign key trips_dest_fkey write-only -> public",
        "wait until no version before trips@10 or airports@6 is in use",
        "purge the tombstones of column dest",
    ]


def test_a_new_table_is_public_with_its_foreign_keys_and_nothing_is_verified() -> None:
    two = "foreign key crews_id_fkey {0}, foreign key crews_code_fkey {0}"
    assert words(PLANS["of a new table"]) == [
        f"publish crews@1 and airports@5 and trips@8: table crews absent -> delete-only, "
        f"{two.format('absent -> write-only')}",
        "wait until no version before crews@1 or airports@5 or trips@8 is in use",
        f"publish crews@2 and airports@6 and trips@9: table crews delete-only -> public, "
        f"{two.format('write-only -> public')}",
        "wait until no version before crews@2 or airports@6 or trips@9 is in use",
    ]


def test_a_new_tables_foreign_key_that_is_public_at_once_is_a_fault() -> None:
    """Who uses the version before of the other table removes a row to which a new one refers."""
    plan = PLANS["of a new table"]
    first, drained, second, last = plan.forward
    alone = replace(first, partners=(), descriptor=replace(first.published, constraints=()))
    faults_found = step_faults(moving(plan), None, (alone, drained, second, last), plan.partners)
    unsafe = [fault for fault in faults_found if "absent and public are not compatible" in str(fault.why)]
    assert [fault.at for fault in unsafe] == [2, 2]


def test_a_foreign_key_is_absent_everywhere_before_its_table_leaves_public() -> None:
    four = ", ".join(f"foreign key {name} {{}}" for name in ("trips_code_fkey", "in_city", "trips_boss_fkey"))
    four += ", foreign key trips_boss_fkey1 {}"
    assert words(PLANS["its table dropped"]) == [
        "publish trips@8 and airports@5: " + four.format(*["public -> write-only"] * 4),
        "wait until no version before trips@8 or airports@5 is in use",
        "publish trips@9 and airports@6: " + four.format(*["write-only -> absent"] * 4),
        "wait until no version before trips@9 or airports@6 is in use",
        "publish trips@10: table trips public -> delete-only",
        "wait until no version before trips@10 is in use",
        "delete all rows of trips",
        "publish trips@11: table trips delete-only -> absent",
        "wait until no version before trips@11 is in use",
    ]


def test_a_foreign_key_is_absent_before_what_it_refers_by_leaves_public() -> None:
    assert words(PLANS["dropped with what it refers to"]) == [
        "publish trips@8: foreign key trips_boss_fkey1 public -> write-only, constraint low public -> write-only",
        "wait until no version before trips@8 is in use",
        "publish trips@9: foreign key trips_boss_fkey1 write-only -> absent, constraint low write-only -> absent",
        "wait until no version before trips@9 is in use",
        "publish trips@10: unique index one_n public -> write-only",
        "wait until no version before trips@10 is in use",
        "publish trips@11: column n public -> delete-only, unique index one_n write-only -> delete-only",
        "wait until no version before trips@11 is in use",
        "delete all entries of one_n and values of n",
        "publish trips@12: column n delete-only -> absent, unique index one_n delete-only -> absent",
        "wait until no version before trips@12 is in use",
    ]


def test_a_required_column_leaves_public_with_the_index_by_which_it_was_referred_to() -> None:
    asked = ("ADD r bigint NOT NULL DEFAULT 1, ADD CONSTRAINT one_r UNIQUE (r, n)", "ADD b bigint")
    refers = "ADD CONSTRAINT led FOREIGN KEY (r, b) REFERENCES trips (r, n)"
    tables = done(tuple(f"ALTER TABLE trips {sql}" for sql in (*asked, refers)), unlinked())
    plan = planned("ALTER TABLE trips DROP COLUMN r", tables)
    assert [str(t) for t in plan.publishes[2].transitions] == [
        "column r public -> write-only",
        "unique index one_r public -> write-only",
    ]
    check_every_rollback(plan)


def test_an_index_that_leaves_public_with_its_foreign_key_is_a_fault() -> None:
    steps = ["publish trips_boss_fkey1 write-only, one_n write-only", "drain"]
    plan = rewritten(PLANS["dropped with its index"], steps)
    assert "step 1 (C6): index one_n is write-only while foreign key trips_boss_fkey1 refers by it" in faults(plan)


def test_a_rename_is_one_publish_of_both_tables() -> None:
    plan = PLANS["renamed"]
    assert words(plan) == [
        "publish trips@8 and airports@5: foreign key in_city is renamed to there",
        "wait until no version before trips@8 or airports@5 is in use",
    ]
    assert [[one.name for one in table.constraints if one.name == "there"] for table in plan.results] == [["there"]] * 2


def test_a_table_that_refers_to_itself_has_both_sides_in_one_version() -> None:
    plan = PLANS["to the table itself"]
    assert (plan.partners, plan.table_ids) == ((), (12,))
    for step, state in zip(plan.publishes, (W, P), strict=True):
        sides = [one for one in step.published.constraints if one.rule in (FOREIGN_KEY, REFERENCED)]
        assert [(one.rule, one.state, one.partner) for one in sides] == [
            (FOREIGN_KEY, state, sides[1].id),
            (REFERENCED, state, sides[0].id),
        ]


def test_the_two_sides_say_the_same() -> None:
    child, parent = PLANS["of two columns, in another order"].results
    here, there = child.foreign_keys[0], parent.referenced_by[0]
    assert (here.name, here.columns, here.reference_columns) == ("trips_number_country_fkey", (5, 4), (4, 3))
    assert (there.columns, there.reference_columns) == (here.reference_columns, here.columns)
    assert (here.references, here.partner) == (parent.table_id, there.id)
    assert (there.references, there.partner) == (child.table_id, here.id)
    assert here.index == there.index == parent.index_named("by_number").id


@pytest.mark.parametrize(
    ("sql", "index"),
    [("REFERENCES airports", PRIMARY), ("REFERENCES airports (code)", PRIMARY), ("REFERENCES airports (city)", 1)],
)
def test_what_the_values_are_unique_by(sql: str, index: int) -> None:
    plan = planned(f"ALTER TABLE trips ADD FOREIGN KEY (code) {sql}", unlinked())
    assert plan.result.foreign_keys[0].index == index


def test_a_key_of_several_columns_may_be_referred_to_in_any_order() -> None:
    tables = done(("CREATE TABLE seats (car int, seat int, PRIMARY KEY (car, seat))",), unlinked())
    one_int = done(("ALTER TABLE trips ADD car int",), tables)
    plan = planned("ALTER TABLE trips ADD FOREIGN KEY (number, car) REFERENCES seats (seat, car)", one_int)
    assert plan.result.foreign_keys[0].index == PRIMARY
    assert plan.result.foreign_keys[0].reference_columns == (2, 1)


def test_names_are_postgresqls_and_numbered_when_taken() -> None:
    names = [one.name for one in named("trips", linked()).foreign_keys]
    assert names == ["trips_code_fkey", "in_city", "trips_boss_fkey", "trips_boss_fkey1"]


def test_a_name_is_taken_in_its_own_table_only() -> None:
    plan = planned("ALTER TABLE airports ADD CONSTRAINT in_city CHECK (number > 0)", linked())
    assert find_faults(plan) == []
    back = planned("ALTER TABLE airports DROP CONSTRAINT in_city", after(plan, linked()))
    assert [str(element) for element in moving(back)] == ["constraint in_city"]


# --- every kind


@EVERY_KIND
def test_every_plan_is_safe_and_survives_json(name: str) -> None:
    plan = PLANS[name]
    assert len(plan.publishes) == KINDS[name][1]
    assert find_faults(plan) == []
    assert plan_from_json(plan.to_json()) == plan


@EVERY_KIND
def test_a_drain_waits_for_what_was_published_with_it(name: str) -> None:
    plan = PLANS[name]
    for published, drained in zip(plan.forward, plan.forward[1:], strict=False):
        if published.kind is StepKind.PUBLISH:
            assert (drained.kind, drained.partners) == (StepKind.DRAIN, published.partners)


def _points(plan: Plan) -> range:
    return range(1, 1 + sum(step.kind is StepKind.PUBLISH for step in plan.forward[: plan.point_of_no_return]))


@EVERY_KIND
def test_the_rollback_from_every_point_is_safe_and_ends_where_it_began(name: str) -> None:
    check_every_rollback(PLANS[name])


def check_every_rollback(plan: Plan) -> None:
    for published in _points(plan):
        here, others = plan.publishes[published - 1].published, partners_after(plan, published)
        back = rollback_steps(plan, published)
        assert step_faults(moving(plan), here, back, others) == []
        left = {table.table_id: table for table in (here, *others)}
        for step in back:
            left |= {step.descriptor.table_id: step.descriptor} if step.descriptor else {}
            left |= {table.table_id: table for table in step.partners}
        for base in filter(None, (plan.base, *plan.partners)):
            assert left[base.table_id] == _as_before(base, left[base.table_id])
        assert plan.base is not None or left[TableId(plan.table_id)].state is A


def _as_before(base: Descriptor, last: Descriptor) -> Descriptor:
    """Equal to the table before, versions and used-up ids aside (X4)."""
    return replace(
        base,
        version=last.version,
        next_column_id=last.next_column_id,
        next_index_id=last.next_index_id,
        next_constraint_id=last.next_constraint_id,
    )


def test_the_rollback_publishes_and_drains_both_tables() -> None:
    plan = PLANS["dropped"]
    assert words(plan, rollback_steps(plan, 1)) == [
        "publish trips@9 and airports@6: foreign key trips_code_fkey write-only -> public",
        "wait until no version before trips@9 or airports@6 is in use",
    ]


@EVERY_KIND
def test_both_sides_end_public_or_gone(name: str) -> None:
    plan = PLANS[name]
    tables = {table.table_id: table for table in plan.results}
    for move in plan.moves:
        if move.element.partner is None or move.kind is MoveKind.RENAME:
            continue
        end = P if move.kind is MoveKind.ADD else A
        there = tables[move.element.partner[0]]  # type: ignore[index]
        assert (state_of(plan.result, move.element), state_of(there, partner_of(move.element))) == (end, end)


@pytest.mark.parametrize(
    ("name", "point_of_no_return"),
    [
        ("to the primary key", "publish trips@9 and airports@6: foreign key trips_code_fkey write-only -> public"),
        ("dropped", "publish trips@9 and airports@6: foreign key trips_code_fkey write-only -> absent"),
        (
            "its column dropped",
            "publish trips@9 and airports@6: index by_city_of write-only -> delete-only, "
            "foreign key in_city write-only -> absent",
        ),
    ],
)
def test_the_point_of_no_return(name: str, point_of_no_return: str) -> None:
    assert describe(PLANS[name], PLANS[name].forward[PLANS[name].point_of_no_return]) == point_of_no_return


# --- several at once

PIECES = (
    "ADD FOREIGN KEY (country) REFERENCES airports (city)",
    "ADD FOREIGN KEY (boss) REFERENCES trips",
    "ADD a text REFERENCES airports",
    "ADD b text NOT NULL DEFAULT 'LAX' REFERENCES airports",
    "ADD c bigint REFERENCES trips (n)",
    "ADD UNIQUE (code)",
    "ADD CHECK (n > 0)",
    "ALTER code SET NOT NULL",
    "ALTER number TYPE bigint",
    "DROP CONSTRAINT in_city",
    "DROP CONSTRAINT trips_boss_fkey",
    "DROP CONSTRAINT trips_boss_fkey1",
    "DROP CONSTRAINT one_n",
    "DROP CONSTRAINT low",
    "DROP COLUMN city",
    "DROP COLUMN boss",
    "DROP COLUMN n",
    "DROP COLUMN number",
)


@every(3)
@pytest.mark.parametrize("first", PIECES)
def test_any_three_at_once_are_safe_there_and_back_or_refused(first: str, every: int) -> None:
    """Every third of the threes; all of them in the soak."""
    refused = []
    for others in [*combinations(PIECES[PIECES.index(first) + 1 :], 2)][::every]:
        try:
            plan = planned(f"ALTER TABLE trips {first}, {', '.join(others)}", linked())
        except DdlError as refusal:
            refused.append(refusal.sqlstate)
            continue
        check_every_rollback(plan)
    assert set(refused) <= {"0A000", "2BP01"}


# --- what is refused

REFUSED: list[tuple[str, str, str]] = [
    ("CREATE TABLE t (a int PRIMARY KEY, b text REFERENCES |nowhere)", "42P01", 'relation "nowhere" does not exist'),
    ("CREATE TABLE t (a int PRIMARY KEY, |b int REFERENCES airports)", "42804", "are of different types: integer"),
    ("CREATE TABLE t (a int PRIMARY KEY, FOREIGN KEY (|b) REFERENCES t)", "42703", '"b" referenced in foreign key'),
    ("CREATE TABLE t (a int PRIMARY KEY, b int REFERENCES t (|b))", "42830", "no unique constraint matching"),
    ("CREATE TABLE t (a int PRIMARY KEY REFERENCES t |ON DELETE CASCADE)", "0A000", "ON DELETE CASCADE is not"),
    (
        "CREATE TABLE t (a int PRIMARY KEY CONSTRAINT k REFERENCES t, CONSTRAINT |k FOREIGN KEY (a) REFERENCES t)",
        "42710",
        'constraint "k" for relation "t" already exists',
    ),
    ("ADD FOREIGN KEY (code) REFERENCES airports |ON DELETE CASCADE", "0A000", "ON DELETE CASCADE is not supported"),
    ("ADD FOREIGN KEY (code) REFERENCES airports |ON DELETE SET NULL", "0A000", "ON DELETE SET NULL is not"),
    ("ADD FOREIGN KEY (code) REFERENCES airports |on delete set null (code)", "0A000", "ON DELETE SET NULL is not"),
    ("ADD FOREIGN KEY (code) REFERENCES airports |ON DELETE SET DEFAULT", "0A000", "ON DELETE SET DEFAULT is not"),
    ("ADD FOREIGN KEY (code) REFERENCES airports |ON UPDATE CASCADE", "0A000", "ON UPDATE CASCADE is not"),
    ("ADD FOREIGN KEY (code) REFERENCES airports |ON UPDATE SET NULL", "0A000", "ON UPDATE SET NULL is not"),
    ("ADD FOREIGN KEY (code) REFERENCES airports |ON UPDATE SET DEFAULT", "0A000", "ON UPDATE SET DEFAULT is not"),
    ("ADD FOREIGN KEY (code) REFERENCES airports |MATCH FULL", "0A000", "MATCH FULL is not supported yet"),
    ("ADD FOREIGN KEY (code) REFERENCES airports |MATCH PARTIAL", "0A000", "MATCH PARTIAL is not supported yet"),
    ("ADD FOREIGN KEY (code) REFERENCES airports |NOT VALID", "0A000", "NOT VALID is not supported yet"),
    ("ADD FOREIGN KEY (code) REFERENCES airports |NOT ENFORCED", "0A000", "NOT ENFORCED is not supported yet"),
    ("ADD FOREIGN KEY (code, |PERIOD n) REFERENCES airports (code, PERIOD city)", "0A000", "PERIOD is not"),
    ("ADD x text REFERENCES airports |ON DELETE CASCADE", "0A000", "ON DELETE CASCADE is not supported"),
    ("ADD x text REFERENCES |nowhere", "42P01", 'relation "nowhere" does not exist'),
    ("ADD FOREIGN KEY (code) REFERENCES |nowhere", "42P01", 'relation "nowhere" does not exist'),
    ("ADD FOREIGN KEY (code) REFERENCES |other.airports", "3F000", 'schema "other" does not exist'),
    ("ADD FOREIGN KEY (|nothing) REFERENCES airports", "42703", '"nothing" referenced in foreign key constraint'),
    ("ADD FOREIGN KEY (code) REFERENCES airports (|nothing)", "42703", '"nothing" referenced in foreign key'),
    ("ADD FOREIGN KEY (code, |code) REFERENCES airports (country, number)", "42701", 'column "code" appears twice'),
    ("ADD FOREIGN KEY (code, city) REFERENCES airports (city, |city)", "42830", "must not contain duplicates"),
    ("ADD |FOREIGN KEY (code, city) REFERENCES airports", "42830", "number of referencing and referenced columns"),
    ("ADD |CONSTRAINT k FOREIGN KEY (code) REFERENCES airports (country, number)", "42830", "number of referencing"),
    (
        "ADD FOREIGN KEY (code) REFERENCES airports (|country)",
        "42830",
        'there is no unique constraint matching given keys for referenced table "airports"',
    ),
    ("ADD FOREIGN KEY (number) REFERENCES airports (|number)", "42830", "there is no unique constraint"),
    (
        "ADD FOREIGN KEY (|n) REFERENCES airports",
        "42804",
        'foreign key constraint "trips_n_fkey" cannot be implemented: key columns "n" of trips and "code" of '
        "airports are of different types: bigint and text",
    ),
    ("ADD |x integer REFERENCES trips", "42804", 'foreign key constraint "trips_x_fkey" cannot be implemented'),
    ("ADD CONSTRAINT |low FOREIGN KEY (code) REFERENCES airports", "42710", 'constraint "low" for relation "trips"'),
    ("ADD CONSTRAINT |one_n FOREIGN KEY (code) REFERENCES airports", "42710", 'constraint "one_n" for relation'),
    ("DROP COLUMN city, ADD FOREIGN KEY (|city) REFERENCES airports", "0A000", "which this statement drops"),
    ("ALTER code TYPE integer, ADD FOREIGN KEY (|code) REFERENCES airports", "0A000", "gives another type"),
    ("DROP CONSTRAINT one_n, ADD FOREIGN KEY (boss) REFERENCES |trips (n)", "0A000", "refers by index one_n, which"),
]

RESTS: list[tuple[str, str, str]] = [
    (
        "DROP TABLE |airports",
        "2BP01",
        "cannot drop table airports because other objects depend on it: "
        "foreign key trips_code_fkey of trips, foreign key in_city of trips",
    ),
    ("DROP TABLE |airports CASCADE", "2BP01", "cannot drop table airports"),
    ("ALTER TABLE airports DROP COLUMN |city", "2BP01", "cannot drop column city of table airports because other"),
    ("DROP INDEX |by_city", "2BP01", "cannot drop index by_city because other objects depend on it: foreign key in_c"),
    ("ALTER TABLE airports DROP CONSTRAINT |by_city", "2BP01", "cannot drop constraint by_city on table airports"),
    ("DROP INDEX |one_n", "2BP01", "cannot drop index one_n because constraint one_n on table trips requires it"),
    ("ALTER TABLE trips DROP COLUMN |n", "2BP01", "cannot drop column n of table trips because other objects"),
    ("ALTER TABLE trips DROP CONSTRAINT trips_boss_fkey, DROP COLUMN |n", "2BP01", "cannot drop column n of table"),
    ("ALTER TABLE trips DROP COLUMN code, DROP CONSTRAINT |one_n", "2BP01", "cannot drop constraint one_n on table"),
    ("ALTER TABLE trips ALTER |code TYPE integer", "0A000", "indexed or constrained by trips_code_fkey, is not"),
    (
        "ALTER TABLE airports ALTER |city TYPE integer",
        "0A000",
        "indexed or constrained by by_city, foreign key in_city of trips,",
    ),
    ("ALTER TABLE airports DROP CONSTRAINT |in_city", "42704", 'constraint "in_city" of relation "airports" does not'),
    ("ALTER TABLE airports RENAME CONSTRAINT |in_city TO x", "42704", 'constraint "in_city" for table "airports"'),
    ("ALTER TABLE trips RENAME CONSTRAINT in_city TO |low", "42710", 'constraint "low" for relation "trips" already'),
]


def refusal_of(sql: str, tables: Tables) -> DdlError:
    with pytest.raises(DdlError) as refused:
        planned(sql.replace("|", ""), tables)
    return refused.value


@pytest.mark.parametrize(("sql", "sqlstate", "message"), REFUSED)
def test_what_cannot_be_added_is_refused_at_its_place(sql: str, sqlstate: str, message: str) -> None:
    text = sql if sql.startswith("CREATE") else f"ALTER TABLE trips {sql}"
    refused = refusal_of(text, unlinked())
    assert (refused.sqlstate, message in refused.message) == (sqlstate, True), refused.message
    assert refused.position == text.index("|") + 1


@pytest.mark.parametrize(("sql", "sqlstate", "message"), RESTS)
def test_what_a_foreign_key_depends_on_stays(sql: str, sqlstate: str, message: str) -> None:
    refused = refusal_of(sql, linked())
    assert (refused.sqlstate, message in refused.message) == (sqlstate, True), refused.message
    assert refused.position == sql.index("|") + 1


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports ON DELETE CASCADE", "Write NO ACTION or RES"),
        ("ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports NOT VALID", "verified while writes go on"),
        (
            "ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports (country)",
            "CREATE UNIQUE INDEX ON airports (country) first.",
        ),
        (
            "ALTER TABLE trips ADD FOREIGN KEY (number) REFERENCES airports (number)",
            "Index positive has a condition, so not every row is in it.",
        ),
        ("ALTER TABLE trips ADD FOREIGN KEY (n) REFERENCES airports", "give n the type text first."),
        (
            "DROP TABLE airports",
            "Drop what refers to it first: ALTER TABLE trips DROP CONSTRAINT trips_code_fkey; "
            "ALTER TABLE trips DROP CONSTRAINT in_city.",
        ),
    ],
)
def test_a_refusal_says_what_to_do_instead(sql: str, hint: str) -> None:
    assert hint in str(refusal_of(sql, linked()).hint)


def test_an_index_on_its_way_makes_nothing_unique_yet() -> None:
    plan = planned("CREATE UNIQUE INDEX by_land ON airports (country)", unlinked())
    under_way = (plan.publishes[1].published, named("trips", unlinked()))
    refused = refusal_of("ALTER TABLE trips ADD FOREIGN KEY (country) REFERENCES airports (country)", under_way)
    assert (refused.sqlstate, refused.hint) == ("42830", "Index by_land is write-only.")


def test_a_table_on_its_way_out_is_not_referred_to() -> None:
    going = (planned("DROP TABLE airports", unlinked()).publishes[0].published, named("trips", unlinked()))
    refused = refusal_of("ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports", going)
    assert (refused.sqlstate, refused.message) == (
        "55000",
        "table airports is delete-only: only a public table can be referred to",
    )


def test_a_foreign_key_on_its_way_can_neither_be_dropped_nor_renamed() -> None:
    plan = PLANS["to the primary key"]
    under_way = (plan.publishes[0].partners[0], plan.publishes[0].published)
    for sql in ("DROP CONSTRAINT trips_code_fkey", "RENAME CONSTRAINT trips_code_fkey TO x", "DROP COLUMN code"):
        assert "constraint trips_code_fkey is write-only" in refusal_of(f"ALTER TABLE trips {sql}", under_way).message
    assert "is write-only" in refusal_of("DROP TABLE trips", under_way).message


def test_a_statement_is_read_with_all_that_it_says() -> None:
    sql = 'ALTER TABLE t ADD CONSTRAINT k FOREIGN KEY (a, "B") REFERENCES public.p (p, b) ON DELETE RESTRICT'
    action = parse(sql).action.alterations[0]  # type: ignore[union-attr]
    assert action == NewForeignKey(
        Name("k"),
        (Name("a"), Name("B")),
        Name("p"),
        (Name("p"), Name("b")),
        on_delete="restrict",
        on_update="no action",
    )
    assert [name.position for name in action.reference_columns] == [sql.index("(p, b)") + 2, sql.index(" b)") + 2]


# --- in plain words


@pytest.mark.parametrize(
    ("name", "danger"),
    [
        (
            "to the primary key",
            "Every row of trips is read once; one whose (code) is not in airports (code) makes the change roll back, "
            "and is named.",
        ),
        (
            "to the primary key",
            "Without an index on trips (code) each delete from airports reads all of trips: "
            "CREATE INDEX ON trips (code) would help.",
        ),
        (
            "a required column that refers",
            "All rows of trips refer to ('LAX'): airports (code) must have it, or inserts into trips that leave it to "
            "the default are refused until the change has rolled back.",
        ),
        ("its column dropped", "Foreign key in_city refers by city and is dropped with it."),
        ("its table dropped", "Foreign key in_city to airports is dropped with it, before the table leaves public."),
        (
            "dropped",
            "Once trips_code_fkey is absent, a row of trips may refer to nothing, "
            "and a row of airports may go that others refer to.",
        ),
    ],
)
def test_dangers_are_stated_in_plain_words(name: str, danger: str) -> None:
    assert danger in PLANS[name].dangers


@pytest.mark.parametrize(
    "sql",
    [
        "ADD FOREIGN KEY (city) REFERENCES airports (city)",
        "ADD FOREIGN KEY (code) REFERENCES airports, ADD UNIQUE (code, n)",
        "ADD FOREIGN KEY (id) REFERENCES trips (n)",
        "ADD FOREIGN KEY (country, number) REFERENCES airports (country, number), ADD UNIQUE (number, country)",
        "ADD x text UNIQUE REFERENCES airports",
    ],
)
def test_with_an_index_deletes_are_not_slow(sql: str) -> None:
    dangers = planned(f"ALTER TABLE trips {sql}", unlinked()).dangers
    assert not any("Without an index" in danger for danger in dangers)


@pytest.mark.parametrize(
    "sql",
    [
        "ADD FOREIGN KEY (code) REFERENCES airports, ADD UNIQUE (n, code)",
        "ADD FOREIGN KEY (city) REFERENCES airports (city), DROP CONSTRAINT one_city",
    ],
)
def test_without_one_the_plan_says_which_would_help(sql: str) -> None:
    tables = done(("DROP INDEX by_city_of", "ALTER TABLE trips ADD CONSTRAINT one_city UNIQUE (city)"), unlinked())
    dangers = planned(f"ALTER TABLE trips {sql}", tables).dangers
    assert any("would help." in danger for danger in dangers)


def test_an_index_that_begins_with_some_of_the_columns_helps_only_so_far() -> None:
    """As nodes find the rows: the plan says what they read."""
    tables = done(("CREATE INDEX ON trips (country, n, number)",), unlinked())
    refers = "ALTER TABLE trips ADD FOREIGN KEY (number, country) REFERENCES airports (number, country)"
    assert (
        "Without an index on trips (number, country) each delete from airports reads all rows of trips with the same "
        "country: CREATE INDEX ON trips (number, country) would help."
    ) in planned(refers, tables).dangers
    both = done(("CREATE INDEX by_both ON trips (number, country)", refers), tables)
    assert (
        "Each delete from airports reads all rows of trips with the same country then: "
        "no other index begins with the columns of foreign key trips_number_country_fkey."
    ) in planned("DROP INDEX by_both", both).dangers
    assert not any("reads" in danger for danger in planned("DROP INDEX trips_country_n_number_idx", both).dangers)


def test_to_drop_the_index_by_which_rows_are_found_has_its_price() -> None:
    why = "no other index begins with the columns of foreign key in_city"
    said = f"Each delete from airports reads all of trips then: {why}."
    assert said in planned("DROP INDEX by_city_of", linked()).dangers
    again = done(("CREATE INDEX ON trips (city, n)",), linked())
    assert said not in planned("DROP INDEX by_city_of", again).dangers


def test_tables_are_found_by_name_and_id() -> None:
    dropped = replace(named("trips", unlinked()), state=A)
    for tables in (KnownTables((named("airports", unlinked()), dropped)), CatalogView((*unlinked()[:1], dropped))):
        assert (tables.named("airports"), tables.named("trips")) == (named("airports", unlinked()), None)
        assert (tables.numbered(12), tables.numbered(99)) == (dropped, None)


def test_each_version_says_what_comes_with_it() -> None:
    seen = [
        (version["version"], *((other["table"], other["version"]) for other in version["partners"]))
        for version in preview.versions(PLANS["a column that refers"])
    ]
    assert seen == [(7, ("airports", 4)), (8, ("airports", 4)), (9, ("airports", 5)), (10, ("airports", 6))]
    assert preview.rollback(PLANS["dropped"])["summary"] == (
        "Nothing was lost yet: foreign key trips_code_fkey is public again, and trips and airports are as they were."
    )
