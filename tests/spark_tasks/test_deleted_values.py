"""Values of a column go block by block: rows that move meanwhile, walks that crash, transactions that read before."""

from random import Random
from typing import Any

import psycopg
import pytest

from catalog.elements import EXISTS, State
from spark_tasks.models import ReorgRange
from spark_tasks.reorganise.delete import DeleteKeys, Removed
from spark_tasks.runs.pacing import Pace
from spark_tasks.services import run_status
from storage.integrity.clauses import element_label
from storage.mutations import update_row
from storage.pairs import COLUMN, StoredRow, row_key
from tests.rounds import some_of
from tests.spark_tasks.kinds import ADDED, FILL_VALUE, Change
from tests.spark_tasks.runs import Runs
from tests.spark_tasks.test_interrupted import blocks_of, chunks_of, do, score_keys, small, with_values_to_delete
from tests.storage.stage import Stage, Statements, user

__all__ = ["small"]
OTHERS = 10_000
"""Keys that rows move to begin here."""


@pytest.fixture
def change(stage: Stage, small: Runs) -> Change:
    return with_values_to_delete(stage, small)


def row_of(stage: Stage, number: int, *, at: int | None = None) -> StoredRow:
    """A row with its value, as `with_values_to_delete` has made it, under another key perhaps."""
    row = user(stage.now, number, f"name {number}" if number != 5 else None, 10 + 2 * number)
    key = row.key if at is None else row_key(stage.now, [at])
    return StoredRow(key, {**row.columns, ADDED: FILL_VALUE})


def move(stage: Stage, opened: psycopg.Connection[Any], number: int, *, by: int = OTHERS) -> None:
    """Give a row another key: every pair that it has goes along."""
    moved = row_key(stage.now, [number + by])
    Statements(stage, opened).run(update_row(stage.now, row_of(stage, number), {}, moved))


def numbers_on(stage: Stage, storage: int) -> list[int]:
    """The rows that lie on a storage and have a value there."""
    there = stage.contents()[storage - 1]
    return [n for n in range(400) if n != 7 and row_of(stage, n).key + COLUMN.pack(EXISTS) in bare(there)]


def bare(pairs: dict[bytes, bytes | None]) -> set[bytes]:
    """Keys without the prefix that says whose they are."""
    return {key[8:] for key, value in pairs.items() if value is not None}


def is_sound(stage: Stage, change: Change) -> bool:
    """True if nothing is left of the values, and all other pairs are as they have to be."""
    unfinished = frozenset(element_label(one) for one in change.elements)  # type: ignore[arg-type]
    return score_keys(stage) == set() and stage.violations(unfinished=unfinished) == []


def test_values_that_move_into_blocks_that_are_done_go_in_the_pass_that_follows(
    stage: Stage, small: Runs, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[int] = []

    def move_back(_: int) -> None:
        if not moved and ReorgRange.objects.filter(run_id=run_id, storage=1, is_done=True).exists():
            before = score_keys(stage)
            for number in numbers_on(stage, 2)[:20]:
                with stage.transaction() as statements:
                    move(stage, statements.connection, number)
                moved.append(number)
            keys = {key for key in stage.contents()[0] if key in score_keys(stage) - before}
            assert keys, "some lie where the walk has been"

    run_id = small.start("delete", *change.said)
    do(run_id, monkeypatch, move_back)
    assert (run_status(run_id).state, len(moved)) == ("done", 20)
    assert ReorgRange.objects.filter(run_id=run_id).count() == 4, "each storage twice"
    assert is_sound(stage, change)


@pytest.mark.parametrize("seed", some_of(range(4), 2))
def test_nothing_is_left_beside_writers_after_every_block(
    stage: Stage, small: Runs, change: Change, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, there = Random(seed), {number: number for number in range(400) if number != 7}

    def write(_: int) -> None:
        """Somebody moves, deletes or puts rows; the values that are left go along with theirs."""
        for number in random.sample(sorted(there), 4):
            at, left = there[number], score_keys(stage)
            old = row_of(stage, number, at=at)
            has_value = any(key[8:] == old.key + COLUMN.pack(ADDED) for key in left)
            columns = old.columns if has_value else {c: v for c, v in old.columns.items() if c != ADDED}
            there[number] = at + OTHERS if random.random() < 0.8 else number
            key = row_key(stage.now, [there[number]])
            with stage.transaction() as statements:
                statements.run(update_row(stage.now, StoredRow(old.key, columns), {}, key))
        gone = random.choice(sorted(there))
        stage.delete([row_of(stage, gone, at=there.pop(gone))])

    run_id = small.start("delete", *change.said)
    do(run_id, monkeypatch, write)
    assert run_status(run_id).state == "done"
    assert is_sound(stage, change)
    rows = {key for pairs in stage.contents() for key in bare(pairs) if key.endswith(COLUMN.pack(EXISTS))}
    assert rows == {row_key(stage.now, [at]) + COLUMN.pack(EXISTS) for at in there.values()}


@pytest.mark.parametrize("is_absent", [False, True], ids=["the same version", "the version before"])
def test_who_read_a_value_before_it_was_deleted_cannot_carry_it_on(
    stage: Stage, small: Runs, change: Change, is_absent: bool
) -> None:
    """A pair that is gone meanwhile is removed by nobody a second time: the key change is refused, and puts nothing."""
    with stage.connect() as opened:
        stage.enter(opened)
        assert small.do("delete", *change.said).state == "done"
        if is_absent:
            change.to(stage, State.ABSENT)
        was = stage.versions[-2] if is_absent else stage.now
        ops = update_row(was, row_of(stage, 3), {}, row_key(was, [OTHERS]))
        with pytest.raises(psycopg.errors.SerializationFailure):
            Statements(stage, opened).run(ops)
        opened.rollback()
    assert score_keys(stage) == set()


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_the_walk_gives_way_to_rows_that_are_moving(
    stage: Stage, small: Runs, change: Change, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a block's read and its deletion: what is locked is waited for, 20 ms at a time, and then looked at."""
    gave_way, ways = Pace.after_giving_way, []
    with stage.connect() as opened:
        stage.enter(opened)
        for number in (3, 200, 390):
            move(stage, opened, number)

        def after_giving_way(pace: Pace) -> Pace:
            if not ways:
                opened.execute(end)
            ways.append(pace)
            return gave_way(pace)

        monkeypatch.setattr(Pace, "after_giving_way", after_giving_way)
        assert small.do("delete", *change.said).state == "done"
    assert ways, "they were met"
    assert is_sound(stage, change)


class Crash(Exception):
    """The worker dies."""


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Each chunk that removes pairs is lost once before it commits, with its mark: how many pairs those had removed."""
    values, lost, is_again = DeleteKeys._values, list[int](), False

    def crash(*arguments: Any) -> Removed:
        nonlocal is_again
        removed = values(*arguments)
        is_again = removed.pairs > 0 and not is_again
        if is_again:
            lost.append(removed.pairs)
            raise Crash
        return removed

    monkeypatch.setattr(DeleteKeys, "_values", crash)
    return lost


def test_a_crash_before_and_after_each_block_loses_and_repeats_nothing(
    stage: Stage, small: Runs, change: Change, lost: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = [0]

    def crash(_: int) -> None:
        now = sum(ReorgRange.objects.filter(run_id=run_id).values_list("rows_done", flat=True))
        if now > done[-1]:
            done.append(now)
            raise Crash

    run_id, blocks = small.start("delete", *change.said), blocks_of(stage)
    for _ in range(3 * blocks):
        do(run_id, monkeypatch, crash)
    assert (run_status(run_id).state, chunks_of(run_id), done[-1]) == ("done", blocks, 400)
    assert (sum(lost), len(lost)) == (400, len(done) - 1), "each was once in vain"
    assert len(lost) > 4, "sometimes: it was really interrupted"
    assert is_sound(stage, change)


def test_the_walk_is_the_same_after_the_table_was_written_anew(
    stage: Stage, small: Runs, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VACUUM FULL moves every pair to another block, behind the walk's place perhaps."""
    tables = [f"storage_{number}.kv_{stage.table_id}" for number in (1, 2)]

    def rewrite(number: int) -> None:
        if number == 2:
            for table in tables:
                stage.sql(f"VACUUM FULL {table}")

    run_id = small.start("delete", *change.said)
    do(run_id, monkeypatch, rewrite)
    assert (run_status(run_id).state, run_status(run_id).rows_done) == ("done", 400)
    assert is_sound(stage, change)
