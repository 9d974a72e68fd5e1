"""The line for a node's threads: short queries find one whatever long ones do, and everybody has a turn."""

import random
from collections.abc import Hashable

import pytest

from nodes.execution.engine.thread_line import (
    AGAIN_MAX,
    LONG_MAX,
    LONG_OF_USER_MAX,
    SHORT_S,
    STOPPING_MAX,
    THREADS,
    THREADS_MAX,
    TRIES_MAX,
    Call,
    Decisions,
    Line,
)

EVERYBODY = "ann", "bob", "cleo", "dan"


def asked(line: Line, now: float, *calls: Call) -> list[Call]:
    """Those that begin when they ask one after the other."""
    return [call for call in calls if line.begins_at_once(call, now) or call in line.ask(call, now).begin]


def calls_of(count: int, *users: str, is_long: bool = False) -> list[Call]:
    return [Call(users[n % len(users)], n, is_long) for n in range(count)]


def longs_of(line: Line, now: float) -> list[Call]:
    return [c for c in line.running if not c.is_stopping and (c.is_long or now - c.began >= c.short_s)]


def of_user(calls: list[Call], user: Hashable) -> int:
    return sum(call.user == user for call in calls)


def test_as_many_run_as_there_are_threads_and_others_come_in_their_order() -> None:
    line, calls = Line(), calls_of(THREADS + 2, "ann")
    assert asked(line, 0, *calls) == calls[:THREADS]
    assert line.end(calls[0], 0.01).begin == (calls[THREADS],)
    assert line.end(calls[1], 0.01).begin == (calls[THREADS + 1],)
    assert not line.waiting


def test_who_leaves_the_line_is_not_begun() -> None:
    line, calls = Line(), calls_of(THREADS + 2, "ann")
    asked(line, 0, *calls)
    assert line.end(calls[THREADS], 0.01).begin == ()
    assert line.end(calls[0], 0.01).begin == (calls[THREADS + 1],)


def test_what_turns_out_long_and_is_one_too_many_is_put_back() -> None:
    line, calls = Line(), calls_of(THREADS, *EVERYBODY)
    assert asked(line, 0, *calls) == calls
    assert line.look(SHORT_S / 2).look_at == pytest.approx(SHORT_S)
    assert line.look(SHORT_S).put_back == (calls[-2], calls[-1]), "those that began last lose least"
    assert len(longs_of(line, SHORT_S)) == LONG_MAX
    assert line.look(2 * SHORT_S) == Decisions(), "and no other one"


def test_what_counts_is_what_a_call_has_used() -> None:
    """A machine may be busy with something else."""
    used: dict[Call, float] = {}
    line, calls = Line(lambda call, _: used[call]), calls_of(THREADS, *EVERYBODY)
    used |= dict.fromkeys(calls, 0.0)
    asked(line, 0, *calls)
    assert line.look(100) == Decisions(look_at=pytest.approx(100 + SHORT_S))
    used |= dict.fromkeys(calls[:LONG_MAX], SHORT_S)
    assert line.look(101).put_back == ()
    used[calls[-1]] = SHORT_S
    assert line.look(102).put_back == (calls[-1],)


def test_one_user_leaves_room_for_a_long_query_of_another() -> None:
    line, calls = Line(), calls_of(LONG_MAX, "ann")
    asked(line, 0, *calls)
    assert line.look(SHORT_S).put_back == (calls[-1],)
    line.end(calls[-1], SHORT_S)
    again, other = Call("ann", 6, is_long=True), Call("bob", 7, is_long=True)
    assert asked(line, SHORT_S, again, other) == [other]
    assert line.end(calls[0], SHORT_S).begin == (again,)


def test_what_was_put_back_is_tried_again_for_longer_one_at_a_time() -> None:
    line, longs = Line(), calls_of(LONG_MAX, *EVERYBODY, is_long=True)
    asked(line, 0, *longs)
    first, second = Call("ann", 7, tries=1), Call("ann", 8, tries=2)
    assert asked(line, 1, first, second) == [first]
    assert asked(line, 1, short := Call("ann", 9)) == [short], "which leaves room"
    decided = line.look(1.01 + SHORT_S)
    assert (decided.put_back, decided.look_at) == ((short,), pytest.approx(1 + 2 * SHORT_S))
    decided = line.look(1.01 + 2 * SHORT_S)
    assert (decided.put_back, decided.begin) == ((first,), (second,))
    assert decided.look_at == pytest.approx(1.01 + 2 * SHORT_S + 4 * SHORT_S)


def test_what_was_put_back_many_times_waits_for_a_long_one_to_end() -> None:
    line, longs = Line(), calls_of(LONG_MAX, *EVERYBODY, is_long=True)
    asked(line, 0, *longs)
    assert asked(line, 1, last := Call("ann", 7, tries=TRIES_MAX + 1)) == []
    assert line.end(longs[0], 2).begin == (last,)
    assert line.look(1000).put_back == ()


def test_the_last_try_is_a_long_one_also_where_few_run() -> None:
    line = Line()
    assert line.begins_at_once(last := Call("ann", 7, tries=TRIES_MAX + 1), 0)
    asked(line, 1, *calls_of(LONG_MAX, *EVERYBODY))
    assert last not in line.look(1000).put_back


def test_the_next_rows_of_a_result_have_a_thread_beside_long_ones_in_turn() -> None:
    line, longs = Line(), calls_of(LONG_MAX, *EVERYBODY, is_long=True)
    asked(line, 0, *longs)
    first, second = (Call(user, user, has_answered=True) for user in ("eve", "fay"))
    short = Call("dan")
    assert asked(line, 1, first, second, short) == [first, short], "the last thread is kept for what can be put back"
    decided = line.look(1 + SHORT_S)
    assert (decided.put_back, decided.begin, first.is_long) == ((short,), (), True)
    assert line.end(first, 2).begin == (second,)


def test_results_of_one_user_leave_a_thread_to_the_result_of_another() -> None:
    line, calls = Line(), [Call("ann", n, has_answered=True) for n in range(LONG_OF_USER_MAX + 2)]
    assert asked(line, 0, *calls) == calls[: LONG_OF_USER_MAX + 1]
    assert asked(line, 9, other := Call("bob", has_answered=True), short := Call("cleo")) == [other, short]
    assert line.look(1000).put_back == (short,)
    assert line.end(other, 1000).begin == ()
    assert line.end(calls[0], 1000).begin == (calls[-1],)


def test_few_long_ones_are_left_alone() -> None:
    line, calls = Line(), calls_of(LONG_OF_USER_MAX, "ann")
    assert asked(line, 0, *calls) == calls
    assert line.look(100) == Decisions()
    assert line.end(calls[0], 100) == Decisions()


def test_a_short_one_begins_beside_as_many_long_ones_as_there_may_be() -> None:
    line, longs = Line(), calls_of(LONG_MAX + 1, *EVERYBODY, is_long=True)
    assert asked(line, 0, *longs) == longs[:LONG_MAX]
    assert asked(line, 100, short := Call("ann")) == [short]
    assert line.end(short, 100.01).begin == (), "its thread is for short ones"
    assert line.end(longs[0], 101).begin == (longs[LONG_MAX],)


def test_another_one_has_the_place_of_what_is_asked_to_stop_but_not_of_any_number() -> None:
    line, calls = Line(), calls_of(THREADS_MAX + 1, "ann")
    asked(line, 0, *calls)
    begun = [call for stopping in calls[: STOPPING_MAX + 1] for call in line.stop(stopping, 0.01).begin]
    assert begun == calls[THREADS:THREADS_MAX]
    assert len(line.running) == THREADS_MAX
    decided = line.stop(calls[0], 0.01)
    assert (decided.begin, decided.put_back) == ((), ()), "what was asked is not asked again"
    assert line.end(calls[0], 0.01).begin == (calls[THREADS_MAX],)


def test_a_call_that_is_put_back_gives_its_place_away_at_once() -> None:
    line, calls = Line(), calls_of(THREADS, *EVERYBODY)
    asked(line, 0, *calls)
    assert asked(line, SHORT_S / 2, short := Call("eve")) == []
    decided = line.look(SHORT_S)
    assert (decided.begin, len(decided.put_back)) == ((short,), 2)


@pytest.mark.parametrize(("threads", "waiting", "first"), [
    pytest.param("aaaaaaab", "ab", "b", id="the user who has fewer"),
    pytest.param("aaaaabbb", "ab", "b", id="fewer, not none"),
    pytest.param("caaabbbc", "ba", "b", id="of two who have as many the one who came first"),
])  # fmt: skip
def test_users_have_turns(threads: str, waiting: str, first: str) -> None:
    line = Line()
    asked(line, 0, *map(Call, threads), *map(Call, waiting))
    (begun,) = line.end(next(iter(line.running)), 0).begin
    assert begun.user == first


def test_sessions_of_one_user_have_turns() -> None:
    line = Line()
    calls = [Call("ann", "reports") for _ in range(THREADS)]
    asked(line, 0, *calls, Call("ann", "reports"), other := Call("ann", "psql"))
    assert line.end(calls[0], 0).begin == (other,)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_nobody_waits_beside_a_thread_that_is_free_for_it(seed: int) -> None:
    """Calls come, end, turn out long, are asked to stop, and ask anew where they were put back."""
    chance, line, now, done, come = random.Random(seed), Line(), 0.0, 0, 0
    while done < 300:
        now += chance.choice([0, 0.01, 0.05, SHORT_S])
        step, call = chance.random(), chance.choice([*line.running, *line.waiting, None])
        if come < 300 and (call is None or step < 0.5):
            come += 1
            user, has_answered = chance.choice(EVERYBODY[:2]), chance.random() < 0.3
            asked(line, now, Call(user, chance.randrange(20), chance.random() < 0.2, has_answered=has_answered))
        elif call is not None and step < 0.6 and call in line.running:
            line.stop(call, now)
        elif call is not None:
            line.end(call, now)
            if call.is_put_back:
                assert not call.is_long
                assert not call.has_answered
                assert call.tries <= TRIES_MAX
                asked(line, now, Call(call.user, call.session, tries=call.tries + 1))
            else:
                done += 1
        line.look(now)
        longs = longs_of(line, now)
        active = [call for call in line.running if not call.is_stopping]
        assert line.stopping == len(line.running) - len(active)
        assert len(line.running) <= THREADS_MAX
        assert len(active) <= THREADS
        kept = [call for call in active if call in longs or call.has_answered]
        firsts = [call for call in longs if not call.has_answered]
        assert len(firsts) <= LONG_MAX
        assert len(kept) <= LONG_MAX + 1, "a thread is kept for what can be put back"
        assert all(of_user(firsts, user) <= LONG_OF_USER_MAX for user in EVERYBODY)
        assert all(of_user(kept, user) <= LONG_OF_USER_MAX + 1 for user in EVERYBODY)
        if len(line.running) - min(line.stopping, STOPPING_MAX) < THREADS:
            again = [c for c in active if c.tries and not c.is_long]
            assert len(again) <= AGAIN_MAX
            for call in line.waiting:
                is_full = len(kept) > LONG_MAX or of_user(kept, call.user) > LONG_OF_USER_MAX
                if not call.has_answered:
                    assert call.is_long or call.tries > TRIES_MAX or (call.tries and again), "a thread is free"
                    is_full |= len(longs) >= LONG_MAX or of_user(longs, call.user) >= LONG_OF_USER_MAX
                assert is_full, "there is room for it"
