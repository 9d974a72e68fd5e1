"""Foreign keys are verified and audited beside the table they refer to, in one snapshot; the clauses say the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from catalog.elements import CHECK, Constraint, ConstraintId, State
from spark_tasks.checks import range_check
from spark_tasks.checks.audit import Report, audit_table
from spark_tasks.jobs.reorganisations import RUNS
from spark_tasks.runs.report import NAMED_MAX, Finding
from spark_tasks.services import RunStatus, run_status
from spark_tasks.spark import session
from storage import encoding
from storage.integrity.clauses import Violation, check
from storage.mutations import delete_row, insert_row
from storage.pairs import column_key, index_entry, prefix
from tests.references import BY_CITY, CITY, TRIP_CITY, TRIP_ID
from tests.spark_tasks.runs import Runs, violation_of
from tests.spark_tasks.two_tables import BOSS, Refused, TwoTables, bossed, member, overwrite, remove, text
from tests.storage.stage import Stage


def verified(tables: TwoTables) -> RunStatus:
    return Runs(tables.trips, tables.trips.table_id).do("verify", tables.said)


def audit(stage: Stage) -> Report:
    return audit_table(stage.dsn, stage.table_id, storages=2, buckets=3000)


# --- verification


def test_rows_that_refer_to_what_is_there_pass(tables: TwoTables) -> None:
    tables.fill(["LAX", "CDG"], ["LAX", None, "CDG", "LAX"])
    tables.link(State.WRITE_ONLY)
    status = verified(tables)
    assert (status.state, status.error, status.rows_done) == ("done", "", 4)


def test_a_run_may_know_nothing_of_the_other_table(tables: TwoTables) -> None:
    tables.fill([], ["LAX"])
    tables.link(State.WRITE_ONLY)
    said = {name: value for name, value in tables.said.items() if name != "partner"}
    status = Runs(tables.trips, tables.trips.table_id).do("verify", said)
    assert [v["clause"] for v in status.violations] == ["C6"]


def test_a_row_that_dangles_is_named_as_the_clauses_name_it(tables: TwoTables) -> None:
    tables.fill(["LAX"], ["LAX", "XXX", None])
    tables.link(State.WRITE_ONLY)
    status = verified(tables)
    why = "row id = 1 with (code) = ('XXX') breaks constraint trips_code_fkey: no row of airports has (code) = ('XXX')"
    assert (status.state, status.error) == ("failed", why)
    tables.to(State.PUBLIC)
    assert found(status.violations) == tables.violations()


def test_of_many_that_dangle_ten_are_named_and_all_are_counted(tables: TwoTables) -> None:
    tables.fill(["LAX"], [f"X{number:02}" for number in range(25)] + ["LAX"] * 5)
    tables.link(State.WRITE_ONLY)
    status = verified(tables)
    rows = ", ".join(f"row id = {number} with (code) = ('X{number:02}')" for number in range(10))
    assert status.error == (
        f"25 rows break constraint trips_code_fkey\nconstraint trips_code_fkey, the first 10: {rows}"
    )
    assert len(status.violations) == NAMED_MAX


def test_a_foreign_key_to_a_unique_index(tables: TwoTables) -> None:
    tables.airports.insert([tables.airport("CDG", "Paris"), tables.airport("LAX", None)])
    tables.trips.insert([tables.trip(0, None, "Paris"), tables.trip(1, "CDG", "Rome"), tables.trip(2, "XXX", None)])
    tables.link(State.WRITE_ONLY, column=TRIP_CITY, to=CITY)
    assert [v["why"].partition(" breaks ")[0] for v in verified(tables).violations] == [
        "row id = 1 with (city) = ('Rome')"
    ]
    tables.to(State.PUBLIC)
    assert found(audit(tables.trips).violations) == tables.violations()


def test_a_tombstone_is_nothing_to_refer_to(tables: TwoTables) -> None:
    """While an index of the referenced table is filled again, tombstones lie where entries were."""
    paris = tables.airport("CDG", "Paris")
    tables.airports.insert([paris])
    tables.trips.insert([tables.trip(0, None, "Paris")])
    tables.link(State.PUBLIC, column=TRIP_CITY, to=CITY)
    table = tables.airports.now
    overwrite(tables.airports, index_entry(table, table.placement, table.index(BY_CITY.id), paris)[0], None)
    [violation] = found(audit(tables.trips).violations)
    assert violation in tables.violations()


def test_constraints_of_all_kinds_are_verified_in_one_run(tables: TwoTables) -> None:
    tables.fill(["LAX"], ["LAX", "XXX", None])
    tables.link(State.WRITE_ONLY)
    low = Constraint(ConstraintId(7), "low", CHECK, (TRIP_ID,), '"#1" < 2', state=State.WRITE_ONLY)
    tables.trips.publish(tables.trips.now.next_version(constraints=(*tables.trips.now.constraints, low)))
    said = {"kind": low.kind.value, "id": low.id, "name": low.name}
    status = Runs(tables.trips, tables.trips.table_id).do("verify", said, tables.said)
    assert status.error == (
        "row id = 2 with (id) = (2) breaks constraint low; row id = 1 with (code) = ('XXX') breaks constraint"
        " trips_code_fkey: no row of airports has (code) = ('XXX')"
    )


def test_the_newest_version_of_the_other_table_counts(tables: TwoTables) -> None:
    """Its names may have moved on since the run was started."""
    tables.fill([], ["XXX"])
    tables.link(State.WRITE_ONLY)
    renamed = tuple(replace(c, name="iata") if c.name == "code" else c for c in tables.airports.now.columns)
    tables.airports.publish(tables.airports.now.next_version(columns=renamed))
    assert verified(tables).error.endswith("no row of airports has (iata) = ('XXX')")


def test_spark_verifies_what_this_process_does(tables: TwoTables, monkeypatch: pytest.MonkeyPatch, spark: None) -> None:
    monkeypatch.setattr(session, "ROWS_IN_PROCESS_MAX", 0)
    monkeypatch.setattr("spark_tasks.runs.ranges.FILL_ROWS", 20)
    tables.fill(["LAX"], [*["LAX"] * 100, "XXX"])
    tables.link(State.WRITE_ONLY)
    assert verified(tables).error.startswith("row id = 100 with (code) = ('XXX') breaks constraint trips_code_fkey")
    tables.to(State.PUBLIC)
    assert found(audit(tables.trips).violations) == tables.violations()


# --- beside writers


@pytest.fixture
def ranged(tables: TwoTables, monkeypatch: pytest.MonkeyPatch) -> int:
    """A verification of forty trips in several ranges, each with an airport of its own; not begun."""
    monkeypatch.setattr("spark_tasks.runs.ranges.FILL_ROWS", 5)
    codes = [f"A{number:02}" for number in range(40)]
    tables.fill(codes, codes)
    tables.link(State.WRITE_ONLY)
    return Runs(tables.trips, tables.trips.table_id).start("verify", tables.said)


def before_the_second_range(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> list[int]:
    """Do something once a range was judged; the numbers of rows that the ranges had."""
    judge_range, rows = range_check.Judge.range, []

    def judged(self: range_check.Judge, *where: Any) -> Finding:
        if len(rows) == 1:
            then()
        finding = judge_range(self, *where)
        rows.append(finding.rows)
        return finding

    monkeypatch.setattr(range_check.Judge, "range", judged)
    return rows


def test_what_obeying_nodes_write_meanwhile_breaks_nothing(
    tables: TwoTables, ranged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both tables as of one moment: the other one as of now would lack an airport, or an older one the new ones."""

    def write() -> None:
        for number in range(1, 40, 4):
            with tables.transaction() as (trips, _):
                trips.run(delete_row(tables.trips.now, tables.trip(number, f"A{number:02}")))
            tables.delete_airport(f"A{number:02}")
        with tables.transaction() as (_, airports):
            airports.run(insert_row(tables.airports.now, tables.airport("NEW")))
        for number in range(40, 50):
            tables.insert_trip(number, "NEW")

    rows = before_the_second_range(monkeypatch, write)
    RUNS.run(ranged)
    assert (run_status(ranged).state, run_status(ranged).error) == ("done", "")
    assert len(rows) > 2
    assert sum(rows) == 40
    tables.to(State.PUBLIC)
    assert tables.violations() == found(audit(tables.trips).violations) == []


def test_a_row_of_a_node_that_knows_nothing_of_it_is_found(
    tables: TwoTables, ranged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a verification is for: one written before all nodes obeyed."""
    tables.trips.insert([tables.trip(50, "XXX")])
    before_the_second_range(monkeypatch, lambda: tables.airports.insert([tables.airport("XXX")]))
    RUNS.run(ranged)
    assert run_status(ranged).error.startswith("row id = 50 with (code) = ('XXX') breaks constraint trips_code_fkey")


def test_nodes_refuse_what_would_dangle(tables: TwoTables) -> None:
    tables.fill(["LAX"], ["LAX"])
    tables.link(State.WRITE_ONLY)
    with pytest.raises(Refused):
        tables.insert_trip(1, "XXX")
    with pytest.raises(Refused):
        tables.delete_airport("LAX")


# --- audits

DAMAGE = [
    pytest.param(lambda t: remove(t.airports, t.airport_pair("CDG")), [2], id="a referenced row is gone"),
    pytest.param(lambda t: overwrite(t.trips, t.trip_pair(3), text("XXX")), [3], id="a row refers to nothing"),
    pytest.param(lambda t: overwrite(t.trips, t.trip_pair(3), text(None)), [], id="NULL refers to nothing, rightly"),
    pytest.param(lambda t: remove(t.trips, t.trip_pair(3)), [], id="a missing pair reads as NULL"),
    pytest.param(
        lambda t: (remove(t.airports, t.airport_pair("LAX")), overwrite(t.trips, t.trip_pair(1), text("XXX"))),
        [0, 1, 3],
        id="both",
    ),
]


@pytest.mark.parametrize(("damage", "broken"), DAMAGE)
def test_damage_is_found_as_the_clauses_find_it(
    tables: TwoTables, damage: Callable[[TwoTables], object], broken: list[int]
) -> None:
    tables.fill(["LAX", "CDG"], ["LAX", None, "CDG", "LAX"])
    tables.link(State.PUBLIC)
    assert audit(tables.trips).is_consistent
    damage(tables)
    said = found(audit(tables.trips).violations)
    assert [v.why.split(" with ")[0] for v in sorted(said, key=lambda v: v.key)] == [f"row id = {n}" for n in broken]
    assert said == tables.violations()


def test_a_foreign_key_that_is_not_public_is_not_relied_on(tables: TwoTables) -> None:
    tables.fill([], ["XXX"])
    tables.link(State.WRITE_ONLY)
    assert audit(tables.trips).is_consistent


def test_the_version_before_is_relied_on_while_it_is_leased(tables: TwoTables) -> None:
    tables.fill([], ["XXX"])
    tables.link(State.PUBLIC)
    before = tables.trips.now.version
    tables.to(State.WRITE_ONLY)
    assert audit(tables.trips).is_consistent
    tables.trips.sql(
        "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
        " VALUES (%s, %s, 'n1', 1, clock_timestamp() + interval '1 minute')",
        [tables.trips.table_id, before],
    )
    report = audit(tables.trips)
    assert ([v["clause"] for v in report.violations], report.versions) == (["C6"], [before, before + 1])
    tables.trips.sql("DELETE FROM leases_lease WHERE table_id = %s", [tables.trips.table_id])


@pytest.mark.parametrize("state", [State.WRITE_ONLY, State.PUBLIC])
def test_a_table_that_is_referred_to_is_judged_by_its_own_rules(tables: TwoTables, state: State) -> None:
    """Its partner of the foreign key asks nothing of its rows."""
    tables.fill(["LAX", "CDG"], ["XXX"])
    tables.link(state)
    report = audit(tables.airports)
    assert (report.is_consistent, report.rows) == (True, 2)


# --- a table that refers to itself


def test_rows_may_refer_to_rows_of_their_own_table(company: Stage) -> None:
    company.insert(member(company.now, number, boss) for number, boss in [(1, None), (2, 1), (3, 3), (4, 9)])
    company.publish(bossed(company.now, State.WRITE_ONLY))
    own = company.now.foreign_keys[0]
    said = {"kind": "constraint", "id": own.id, "name": own.name, "partner": [company.table_id, own.partner]}
    why = "row id = 4 with (boss) = (9) breaks constraint staff_boss_fkey: no row of staff has (id) = (9)"
    assert Runs(company, company.table_id).do("verify", said).error == why
    company.publish(replace(bossed(company.now, State.PUBLIC), version=company.now.version + 1))
    assert [str(v) for v in found(audit(company).violations)] == [f"C6: {why}"]
    assert found(audit(company).violations) == check(company.now, company.contents())
    overwrite(company, _boss_of(company, 4), encoding.encode(company.now.column(BOSS).type, 2))
    assert audit(company).is_consistent


def _boss_of(company: Stage, number: int) -> bytes:
    start = prefix(company.now, company.now.placement.id)
    return column_key(start, member(company.now, number, None).key, BOSS)


def found(violations: list[dict[str, Any]]) -> list[Violation]:
    return sorted(violation_of(v) for v in violations)
