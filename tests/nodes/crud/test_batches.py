"""What a batch sends and accounts for, without a node."""

import asyncio
import datetime as dt
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from catalog.elements import ColumnId
from expressions.dates.zones import PLAIN
from expressions.errors import SqlError
from nodes.client.answers import CrudError, checked
from nodes.client.calls import plain
from nodes.crud import about, answers, batches, operations, requests
from nodes.crud.answers import WrittenRows
from nodes.crud.batches import Many
from nodes.crud.calls import Call
from nodes.crud.catalogue import OPERATIONS
from nodes.crud.requests import Request
from nodes.crud.texts import Text
from nodes.crud.values import flat_row
from nodes.execution.fairness import Turns
from nodes.router.attempts import Attempts, Failure, Next
from nodes.router.batches import Batch, Ending
from nodes.store.pipeline import StoreError
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from storage.postgres import BELOW_FENCE
from tests.nodes.sql.test_access_paths import TABLE

DAY, BAD_DAY = "2026-01-01", "no day"


class Asked:
    """A request whose statements are only noted. `refusal` is what the store says to the first."""

    def __init__(
        self, verb: str = "insert", refusal: SqlError | None = None, storages: int = 1, **options: Any
    ) -> None:
        operation = SimpleNamespace(is_object=False, verb=verb)
        self.call = SimpleNamespace(options=options, operation=operation)
        self.env = SimpleNamespace(buckets=3000, storages=storages)
        self.caller, self.refusal = SimpleNamespace(style=PLAIN), refusal
        self.planned, self.done = list[Text](), list[Text]()

    async def plan(self, transaction: Any, text: Text) -> None:
        self.planned.append(text)
        if "unknown" in text.sql:
            raise SqlError("42703", "column unknown does not exist")

    async def do(self, transaction: Any, text: Text, *, commit: bool) -> tuple[Any, list[Any], int]:
        if self.refusal is not None:
            raise self.refusal
        self.done.append(text)
        return (), [], text.sql.split(" ON CONFLICT")[0].count("(") - 1


class Open(SimpleNamespace):
    """A transaction."""

    async def commit(self) -> None:
        self.is_over = True


def whole_part(
    asked: Any,
    rows: list[Any],
    table: Any = TABLE,
    *,
    is_object: bool = False,
    has_reloaded: bool = True,
    work: Many | None = None,
) -> Many:
    if work is None:
        asked.call.operation.is_object = is_object
        work = Many(asked, asked.call.operation.verb, rows, Batch(len(rows)))
        work.has_reloaded = has_reloaded
    open_one: Any = Open(is_over=False, started_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    try:
        asyncio.run(work._whole_part(open_one, table))
    except SqlError as error:
        asked.raised = error
    return work


def test_a_late_row_with_a_column_of_a_newer_version_is_found_before_anything_is_sent():
    asked = Asked()
    rows: list[Any] = [{"day": DAY, "number": number} for number in range(150)]
    rows[120]["unknown"] = 1
    work = whole_part(asked, rows, is_object=True)
    assert asked.raised.sqlstate == "42703"
    assert asked.done == []
    assert work.batch.outcomes == {}


def test_a_late_row_without_a_required_value_has_its_reload_before_anything_is_sent():
    """An old version may require what the newest one does not."""
    rows = [{"day": DAY, "number": number} for number in range(150)]
    rows[120]["number"] = None
    for late in (None, "left out"):
        rows[120] = {"day": DAY, "number": None} if late is None else {"day": DAY}
        asked = Asked()
        work = whole_part(asked, rows, is_object=True, has_reloaded=False)
        assert (asked.raised.sqlstate, asked.done, work.batch.outcomes) == ("23502", [], {})
        asyncio.run(work._failed(asked.raised))
        assert work.has_reloaded
        assert work._attempts().after(Failure.OLD_SCHEMA)[1] is Next.GIVE_UP


def test_rows_are_read_once_however_many_parts_they_make(monkeypatch: pytest.MonkeyPatch):
    """Each third of the rows is of another storage."""
    read = list[Any]()
    monkeypatch.setattr(batches, "flat_row", lambda *given, **more: read.append(given) or flat_row(*given, **more))
    asked = Asked(storages=3)
    work = whole_part(asked, [[DAY, number] for number in range(60)])
    sizes = [len(work.batch.outcomes)]
    while work.batch.left:
        whole_part(asked, [], work=work)
        sizes.append(len(work.batch.outcomes))
    assert (len(sizes), len(read)) == (3, 60)
    assert work.batch.indices(Ending.DONE) == list(range(60))


def test_a_row_that_does_not_fit_is_accounted_for_when_the_storages_have_accepted_the_version():
    rows = [[DAY, 1], [BAD_DAY, 2]]
    asked = Asked(refusal=Retry("the schema moved on", stale=True))
    assert whole_part(asked, rows).batch.outcomes == {}
    accepted = whole_part(Asked(), rows).batch
    assert (accepted.indices(Ending.DONE), accepted.indices(Ending.FAILED)) == ([0], [1])


@pytest.mark.parametrize("option", ["rollback_on_error", "stop_on_error"])
def test_a_row_that_does_not_fit_keeps_the_others_from_being_sent(option: str):
    asked = Asked(**{option: True})
    batch = whole_part(asked, [[DAY, 1], [BAD_DAY, 2], [DAY, 3]]).batch
    assert asked.done == []
    assert (batch.indices(Ending.FAILED), batch.indices(Ending.NOT_PERFORMED)) == ([1], [0, 2])


def test_others_have_their_turn_between_the_rows_of_an_answer(monkeypatch: pytest.MonkeyPatch):
    """Ten thousand errors are two megabytes of JSON."""
    given = 0

    async def give(_: Turns) -> None:
        nonlocal given
        given += 1

    class Whole(Asked):
        table, version = TABLE.name, 1

        async def within_time(self, work: Any) -> Any:
            return await work

        async def attempt(self, work: Any) -> Any:
            return await work(Open(is_over=False, started_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)), TABLE)

    monkeypatch.setattr(Turns, "give", give)
    asked: Any = Whole("replace")
    asked.call.operation.name, asked.call.operation.is_object = "replace_many", False
    answer = json.loads(asyncio.run(batches.many(asked, [None] * 300)))
    assert [one["index"] for one in answer["failed"]] == list(range(300))
    assert answer["done"] == answer["rolled_back"] == answer["not_performed"] == []
    assert given >= 2 * 300  # when a row is read, and when its error is written


def test_the_error_of_a_row_keeps_no_frame_alive():
    """The frames of ten thousand errors held the garbage collector, and so the node, for 0.2 s."""
    outcomes = whole_part(Asked(), [[BAD_DAY, number] for number in range(3)]).batch.outcomes
    assert len(outcomes) == 3
    for outcome in outcomes.values():
        assert (outcome.error.__traceback__, outcome.error.__context__, outcome.error.__cause__) == (None, None, None)


def test_rows_of_one_key_go_together_wherever_each_belongs():
    by_origin = replace(TABLE.placement, sharding_key=(ColumnId(3),))
    table = replace(TABLE, placements=(by_origin,))
    rows = [[DAY, 1, origin] for origin in ("JFK", "ATL", "JFK", "SFO", "LAX")]
    work = whole_part(Asked("replace", storages=2), rows, table)
    assert work.batch.indices(Ending.DONE) == [0, 1, 2, 3, 4]


def test_values_stand_under_their_own_columns_when_the_schema_moves_on_between_two_parts():
    """Two columns exchange their names, one goes, one comes."""
    day, number, origin, delay, big, *_ = TABLE.columns
    newer = TABLE.next_version(
        indexes=(), columns=(day, number, replace(origin, name="was_big"), replace(big, name="origin"))
    )
    rows = WrittenRows()
    rows.add(TABLE, [number, origin, delay, big], {3: (b"1", b"JFK", b"5", b"77")})
    rows.add(newer, [newer.column(c) for c in map(ColumnId, (5, 2, 3))], {0: (b"88", b"2", b"ATL")})
    assert [one["name"] for one in rows.metadata()] == ["origin", "number", "was_big"]
    assert list(rows.listed()) == ['[88, 2, "ATL"]', '[77, 1, "JFK"]']


def test_a_batch_without_rows_is_described_by_the_version_it_was_tried_with():
    rows = WrittenRows(described=(TABLE, TABLE.columns[:1]))
    rows.add(TABLE, TABLE.columns, {})
    assert rows.metadata() == answers.metadata(TABLE, TABLE.columns[:1])
    assert list(rows.listed()) == []


def test_the_version_that_was_refused_may_be_that_of_another_table():
    other = replace(TABLE, table_id=TABLE.table_id + 1, name="airports")
    pin: Any = SimpleNamespace(descriptor=other)
    assert Request._refused(Retry("moved on", pin=pin), TABLE) is other
    pin.descriptor = replace(TABLE, name="renamed")
    assert Request._refused(Retry("moved on", pin=pin), TABLE) is TABLE
    assert Request._refused(Retry("moved on"), TABLE) is TABLE


def test_a_refusal_names_the_table_whose_door_it_was():
    """BEGIN, the doors of two tables, a command."""
    own, other = SimpleNamespace(table_id=7), SimpleNamespace(table_id=8)
    open_one: Any = Transaction(None, 2, lambda _: None)  # type: ignore[arg-type]
    for position, pin in ((1, own), (2, other), (3, None)):
        found = open_one._translated(StoreError(BELOW_FENCE, "below the fence", position=position), 3, [own, other])
        assert found.pin is pin


class Silent:
    """A store that never answers."""

    async def tables(self) -> None:
        await asyncio.Event().wait()


def test_what_a_node_says_of_itself_has_the_time_limit_that_was_asked_for():
    totals = SimpleNamespace(refuse=lambda _: None)
    env: Any = SimpleNamespace(directory=Silent(), meter=SimpleNamespace(totals=totals))
    call = Call(OPERATIONS["schema"], None, options={"timeout": 0.01})
    error = json.loads(asyncio.run(operations.answer(env, call, None)))  # type: ignore[arg-type]
    assert error["class"] == "TimeoutError"


def test_each_transaction_of_a_truncate_has_conflicts_of_its_own():
    class Truncating:
        attempts, left, counts, seen = Attempts(), 3, SimpleNamespace(map_reduces=0), list[int]()

        async def part_within_time(self, work: Any) -> int:
            return await work

        async def attempt(self, _: Any) -> int:
            self.seen.append(self.attempts.conflicts)
            self.attempts = Attempts(conflicts=11)
            self.left -= 1
            return self.left

    request: Any = Truncating()
    assert asyncio.run(about.truncated(request)) == "true"
    assert request.seen == [0, 0, 0]


@pytest.mark.parametrize("operation", ["truncate", "pairs"])
def test_each_part_of_what_takes_as_long_as_it_takes_ends_in_time(operation: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(requests, "PART_S_MAX", 0.4)
    env: Any = SimpleNamespace(buckets=3000)
    request = Request(env, Call(OPERATIONS[operation], "t"), None, "t")  # type: ignore[arg-type]
    turns = list[int]()

    async def pages() -> Any:
        for turn in range(3):
            turns.append(turn)
            await asyncio.sleep(0.02)
            yield [turn]
        await asyncio.Event().wait()

    async def read() -> None:
        async for _ in operations._timed(request, pages()):
            await asyncio.sleep(0.2)  # the client's own time does not count

    with pytest.raises(SqlError, match=r"the request's 0\.4 s were over"):
        asyncio.run(read())
    assert turns == [0, 1, 2]


def test_the_client_tells_an_error_from_tables_that_are_called_so():
    assert checked({"class": {"version": 1}, "message": {"version": 2}})["class"] == {"version": 1}
    with pytest.raises(CrudError, match="no such table"):
        checked({"class": "UnknownTableError", "message": "no such table"})
    with pytest.raises(TypeError, match="complex is no value of a column"):
        plain([7j])
    assert plain([b"7", bytearray(1)]) == ["\\x37", "\\x00"]
