"""A short way into a broken world, as steps of the plain model that a reader can replay: renamings are undone, and the
fewest leases, acquisitions and transactions are put between the events of the search. `minimise` leaves out events and
transactions while the end stays broken in the same way."""

import re
from collections.abc import Callable, Iterator, Sequence

from lab.explorer.contents.numbered import Fault
from lab.explorer.contents.statements import row_of
from lab.explorer.spaces.config import Config, Impossible, step_id
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.reasons import NO_STEP
from lab.explorer.spaces.reduced_space import Atomic, World
from lab.explorer.spaces.search import Space, W

Steps = tuple[Step, ...]
DETOURS_MAX = 200_000


class NoWitness(AssertionError):
    """The plain model cannot reach a broken world: the explorer is wrong."""


def replay(plain: Plain, steps: Sequence[Step]) -> list[Config]:
    """The states along `steps`, the start included. Raises `Impossible` at the first step that cannot be taken."""
    configs = [plain.start()]
    for step in steps:
        why = plain.why_not(configs[-1], step)
        if why is not None:
            raise Impossible(f"step {len(configs)}, {step_id(step)}, may not be taken: {why}")
        configs.append(plain.after(configs[-1], step)[0])
    return configs


def parse(plain: Plain, ids: Sequence[str]) -> Steps:
    """The steps with these names. Raises `Impossible`."""
    config, found = plain.start(), []
    for number, name in enumerate(ids, 1):
        candidates = {step_id(step): step for step in plain.candidates(config)}
        step = candidates.get(name) or given_named(name)
        why = NO_STEP if step is None else plain.why_not(config, step)
        if step is None or why is not None:
            raise Impossible(f"step {number}, {name}, may not be taken: {why}")
        config = plain.after(config, step)[0]
        found.append(step)
    return tuple(found)


def given_named(name: str) -> Step | None:
    word, *rows = name.split(".")
    if word != "given" or not all(re.fullmatch(r"-|-?\d{1,3}", row) for row in rows):
        return None
    return (word, *(row if row == "-" else int(row) for row in rows))


def from_atomic(atomic: Atomic, plain: Plain, path: Sequence[World], least: Callable[[World], World]) -> Steps:
    first, events = _renamed_path(atomic, path, least)
    return minimise(plain, _with_leases(plain, first.contents, events))


def from_plain(plain: Plain, path: Sequence[Config], least: Callable[[Config], Config]) -> Steps:
    first, events = _renamed_path(plain, path, least)
    given, apart = tuple(_given_step(plain, first.contents)), plain.apart()
    late = (*given, *(step for event in events for step in _taken_apart(event)))
    return minimise(apart, late if _clauses(apart, late) else (*given, *_written_early(events)))


def _written_early(events: Sequence[Step]) -> Iterator[Step]:
    """Transactions write at once: their lease may have expired when they commit (T4)."""
    for at, event in enumerate(events):
        if event[1:2] == ("run",):
            yield event[0], "commit"
            continue
        yield event
        if event[1:] == ("begin",):
            later = (one for one in events[at + 1 :] if one[0] == event[0] and one[1] in ("run", "rollback", "end"))
            run = next(later, event)
            yield from _taken_apart(run)[:2] if run[1] == "run" else ()


def _renamed_path(space: Space[W], path: Sequence[W], least: Callable[[W], W]) -> tuple[W, tuple[Step, ...]]:
    world = first = next(w for w in space.first() if least(w) == path[0])
    events = []
    for following in path[1:]:
        event, world = next((step, after) for step, after, _ in space.steps(world) if least(after) == following)
        events.append(event)
    return first, tuple(events)


def _with_leases(plain: Plain, contents: int, events: Sequence[Step]) -> Steps:
    """Breadth first over leases and transactions between the events, which stay in order. If the storages accept the
    newest version alone, a transaction may have to begin long before its commit."""
    detours: list[tuple[str, ...]] = [("acquire",), ("acquire", "expire")]
    if not plain.model.by_leases_alone:
        detours = [("acquire",), ("acquire", "begin"), ("acquire", "begin", "expire")]
    for verbs in detours:
        found = _with_detours(plain, contents, events, verbs)
        if found is not None:
            return found
    raise NoWitness(f"no plain steps lead along {[step_id(event) for event in events]}")


def _with_detours(plain: Plain, contents: int, events: Sequence[Step], verbs: Sequence[str]) -> Steps | None:
    given = tuple(_given_step(plain, contents))
    first = plain.start()
    for step in given:
        first = plain.after(first, step)[0]
    ways: dict[tuple[Config, int], tuple[tuple[Config, int], Steps] | None] = {(first, 0): None}
    level = [(first, 0)]
    while level and len(ways) < DETOURS_MAX:
        following = []
        for at in level:
            if at[1] == len(events) and plain.faults(at[0]):
                return (*given, *_way(ways, at))
            for steps, after in _detours(plain, at, events, verbs):
                if after not in ways:
                    ways[after] = at, steps
                    following.append(after)
        level = following
    return None


def _detours(
    plain: Plain, at: tuple[Config, int], events: Sequence[Step], verbs: Sequence[str]
) -> Iterator[tuple[Steps, tuple[Config, int]]]:
    config, done = at
    for name in plain.names:
        for step in (*plain.lease_steps(name), (name, "begin")):
            if step[1] in verbs:
                yield from _taken(plain, at, (step,), done)
    if done == len(events):
        return
    event = events[done]
    if event[0] != "commit":
        yield from _taken(plain, at, (event,), done + 1)
        return
    for name, node in zip(plain.names, config.nodes, strict=True):
        run = _taken_apart((name, "run", event[2]))
        if node.transaction is not None and node.transaction.use == event[1]:
            yield from _taken(plain, at, run, done + 1)
        elif node.use == event[1]:
            yield from _taken(plain, at, ((name, "begin"), *run), done + 1)


def _taken(plain: Plain, at: tuple[Config, int], steps: Steps, done: int) -> Iterator[tuple[Steps, tuple[Config, int]]]:
    config = at[0]
    for step in steps:
        if plain.hindrance(config, step):
            return
        config = plain.after(config, step)[0]
    yield steps, (config, done)


def _taken_apart(step: Step) -> Steps:
    if step[1:2] != ("run",):
        return (step,)
    name, statement = step[0], step[2]
    assert isinstance(statement, tuple)
    return (name, "read", *row_of(statement)), (name, "write", statement), (name, "commit")


def _given_step(plain: Plain, contents: int) -> Iterator[Step]:
    if not plain.start().given:
        return
    rows = plain.effects.given_rows(contents)
    if any(row != "-" for row in rows):
        yield ("given", *rows)


def _way(ways: dict[tuple[Config, int], tuple[tuple[Config, int], Steps] | None], last: tuple[Config, int]) -> Steps:
    steps: list[Step] = []
    link = ways[last]
    while link is not None:
        steps[:0] = link[1]
        link = ways[link[0]]
    return tuple(steps)


def minimise(plain: Plain, steps: Steps) -> Steps:
    """Leaves out single events, whole transactions and given rows, to a fixpoint."""
    clauses = _clauses(plain, steps)
    assert clauses, "a witness ends in a broken world"
    while True:
        shorter = next((s for s in _shorter(steps) if _clauses(plain, s) & clauses), None)
        if shorter is None:
            return steps
        steps = shorter


def _shorter(steps: Steps) -> Iterator[Steps]:
    for at, step in enumerate(steps):
        if step[1:] == ("expire",):
            yield (*steps[:at], *steps[at + 1 :])
        if step[1:] == ("begin",):
            ends = (
                n for n in range(at + 1, len(steps)) if steps[n][0] == step[0] and steps[n][1] in ("commit", "rollback")
            )
            end = next(ends, at)
            yield tuple(s for n, s in enumerate(steps) if not (at <= n <= end and s[0] == step[0]))
        yield (*steps[:at], *steps[at + 1 :])
        if step[0] == "given":
            yield from (
                (*steps[:at], (*step[:row], "-", *step[row + 1 :]), *steps[at + 1 :])
                for row in range(1, len(step))
                if step[row] != "-"
            )


def _clauses(plain: Plain, steps: Steps) -> set[str]:
    try:
        return {fault.clause for fault in plain.faults(replay(plain, steps)[-1])}
    except Impossible:
        return set()


def faults_after(plain: Plain, steps: Sequence[Step]) -> tuple[Fault, ...]:
    return plain.faults(replay(plain, steps)[-1])
