"""T7: whatever a store forgets, and to whom it gives the ids, no answer is false."""

import itertools

from lab.explorer.spaces.search import search
from lab.scripts.commands_of import Lab, perform
from tests.lab.explorer.commits import Commits, CommitWorld

ALL_SEEN = 0b11111
SENTENCES = {
    "begins": "{0}.a: begin",
    "writes": "{0}.a: insert users ({1}, 'x')",
    "sends COMMIT": "{0}.a: send commit",
    "is answered": "{0}.a: commit",
    "asks": "{0}.a: ask",
    "flushes": "store flushes",
    "crashes": "store crashes keeping {1}",
}


def test_two_writers_and_two_crashes() -> None:
    """Everything that must happen somewhere did: an id given again, each of the outcomes, a COMMIT kept by a crash."""
    found = search(Commits(2))
    assert (found.faults, str(found.why_unknown), found.states) == ((), "", 785)
    assert found.seen == ALL_SEEN


def test_without_the_sign_of_a_life_a_lost_write_is_acknowledged_and_the_lab_agrees() -> None:
    """The shortest way there, done again in the lab's world."""
    space = Commits(2, keeps_life=False)
    found = search(space)
    assert [fault.clause for fault in found.faults] == ["lost write"]
    lab = Lab()
    for line in ("without life", "table users (id int primary key, name text)"):
        perform(lab, line)
    said = [perform(lab, line) for line in lines_of(space, found.path)]
    assert said[-1] == ["n1.a: it has committed"]
    assert "(1, " not in perform(lab, "n3: select users")[-1]


def lines_of(space: Commits, path: tuple[CommitWorld, ...]) -> list[str]:
    """The steps of a path as sentences of the lab."""
    lines = []
    for before, after in itertools.pairwise(path):
        actor, verb, *kept = next(step for step, reached, _ in space.steps(before) if reached == after)
        number = kept[0] if kept else str(actor).removeprefix("n")
        lines.append(SENTENCES[str(verb)].format(actor, number))
    return lines
