"""What becomes of a failed attempt, and of each row of a batch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.router.attempts import CONFLICTS_MAX, Attempts, Failure, Next
from nodes.router.batches import Batch, Ending, parts_of
from nodes.router.counters import OTHERS, TABLES_MAX, Counters, total
from tests.rounds import drawn


def decisions(*failures: Failure) -> list[Next]:
    attempts, found = Attempts(), []
    for failure in failures:
        attempts, after = attempts.after(failure)
        found.append(after)
    return found


def test_one_retry_after_a_mismatch_however_many_conflicts_lie_between():
    conflicts = [Failure.CONFLICT] * 5
    assert decisions(*conflicts, Failure.MISMATCH, *conflicts, Failure.MISMATCH) == [
        *[Next.AGAIN] * 5, Next.RELOAD, *[Next.AGAIN] * 5, Next.GIVE_UP,
    ]  # fmt: skip


def test_one_more_plan_after_one_that_an_old_schema_explains():
    assert decisions(Failure.OLD_SCHEMA, Failure.MISMATCH, Failure.OLD_SCHEMA) == [
        Next.RELOAD, Next.RELOAD, Next.GIVE_UP,
    ]  # fmt: skip


def test_conflicts_have_a_limit_and_what_is_final_is_final():
    assert decisions(*[Failure.CONFLICT] * CONFLICTS_MAX)[-2:] == [Next.AGAIN, Next.GIVE_UP]
    assert decisions(Failure.FINAL) == [Next.GIVE_UP]


def test_a_part_is_accounted_for_as_it_was_asked():
    batch = Batch(6)
    batch.close_part([0, 2, 4], {2: "taken"}, tried=2, is_rolled_back=False)
    batch.close_part([1, 3, 5], {5: "null"}, tried=3, is_rolled_back=True)
    assert {ending: batch.indices(ending) for ending in Ending} == {
        Ending.DONE: [0], Ending.FAILED: [2, 5], Ending.ROLLED_BACK: [1, 3], Ending.NOT_PERFORMED: [4],
    }  # fmt: skip
    assert batch.outcomes[4].error == "taken"
    with pytest.raises(AssertionError, match="row 0 is accounted for twice"):
        batch.account([0], Ending.DONE)


@drawn(100, 5000)
@given(
    storages=st.lists(st.integers(1, 3), max_size=12),
    refused=st.lists(st.sets(st.integers(1, 3)), max_size=4),
    bad=st.sets(st.integers(0, 11)),
    stop=st.booleans(),
    rollback=st.booleans(),
)
def test_every_row_is_accounted_for_once_whichever_parts_are_refused(storages, refused, bad, stop, rollback):
    """Parts that are refused stay as they are, to be planned again; the last round accepts all."""
    batch, committed = Batch(len(storages)), []
    for round_refused in [*refused, set()]:
        for storage, part in parts_of((index, storages[index]) for index in batch.left):
            if storage in round_refused:
                continue
            errors = {index: "bad" for index in part if index in bad}
            tried = len(part)
            if errors and (stop or rollback):
                errors = dict(list(errors.items())[:1])
                tried = part.index(next(iter(errors))) + 1
            batch.close_part(part, errors, tried=tried, is_rolled_back=rollback and bool(errors))
            if not (rollback and errors):
                committed += [index for index in part[:tried] if index not in errors]
    assert sorted(batch.outcomes) == list(range(len(storages)))
    assert batch.indices(Ending.DONE) == sorted(committed)
    assert len(committed) == len(set(committed)), "a row was applied twice"
    assert not batch.left


def test_counts_of_many_tables_share_one():
    counters = Counters()
    for number in range(TABLES_MAX + 5):
        counters.of(f"t{number}").requests += 1
    assert counters.of("one more") is counters.tables[OTHERS]
    assert counters.tables[OTHERS].requests == 5
    assert total(counters.tables.values()).requests == TABLES_MAX + 5
