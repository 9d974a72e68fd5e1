"""Every schedule of sessions that are lost at COMMIT, over a store that crashes, loses unflushed COMMITs and gives
their ids out again (T7). The answers are proved by the product's own `commit_outcome`. None may be false: that rows are
there when the store has lost them, or that nothing was committed when it was."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lab.explorer.contents.numbered import Fault
from storage.commit_outcomes import NOT_GIVEN, Outcome, commit_outcome
from storage.store import TransactionStatus

CRASHES_MAX = 2


class SeenOfCommits:
    """Things that must happen somewhere in a search, or its proof says nothing."""

    ID_GIVEN_AGAIN = 1
    PROVED = 2
    REFUSED = 4
    UNKNOWN = 8
    KEPT_BY_A_CRASH = 16


@dataclass(frozen=True, slots=True)
class Writer:
    """One transaction. `answer` is what its client heard, `life` that of its session."""

    life: int = 0
    id: int = 0
    status: TransactionStatus = TransactionStatus.OPEN
    answer: Outcome | None = None
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class CommitWorld:
    """The writers, the COMMITs on their way in order, and what the store knows. Ids below `flushed_id` are used up."""

    writers: tuple[Writer, ...]
    flushing: tuple[int, ...] = ()
    life: int = 1
    next_id: int = 1
    flushed_id: int = 1

    def status(self, number: int) -> str:
        """The status of an id: of the writer that has it in this life, or had it when it was flushed."""
        if number >= self.next_id:
            return NOT_GIVEN
        holders = [one for one in self.writers if one.id == number]
        if any(one.status is TransactionStatus.COMMITTED for one in holders):
            return "committed"
        in_this_life = [one for one in holders if one.life == self.life]
        return (
            "in progress"
            if any(one.status in (TransactionStatus.OPEN, TransactionStatus.FLUSHING) for one in in_this_life)
            else "aborted"
        )


Step = tuple[tuple[object, ...], CommitWorld, int]


@dataclass(frozen=True, slots=True)
class Commits:
    """The space of so many writers. `keeps_life` False: "committed" is believed whatever has happened since."""

    writers: int = 3
    keeps_life: bool = True

    def first(self) -> list[CommitWorld]:
        return [CommitWorld((Writer(),) * self.writers)]

    def steps(self, world: CommitWorld) -> Iterator[Step]:
        for number, writer in enumerate(world.writers):
            yield from self._of_writer(world, number, writer)
        if world.flushing:
            yield ("store", "flushes"), flushed(world, 1), 0
        if world.life <= CRASHES_MAX:
            for kept in range(len(world.flushing) + 1):
                flags = SeenOfCommits.KEPT_BY_A_CRASH if kept else 0
                yield ("store", "crashes", kept), crashed(world, kept), flags

    def _of_writer(self, world: CommitWorld, number: int, writer: Writer) -> Iterator[Step]:
        name = f"n{number + 1}"
        if writer.answer is not None or (writer.status is TransactionStatus.ABORTED and not writer.is_lost):
            return
        if not writer.life:
            yield (name, "begins"), with_writer(world, number, replace(writer, life=world.life)), 0
        elif not writer.id:
            begun = with_writer(world, number, replace(writer, id=world.next_id))
            is_again = any(one.id == world.next_id for one in world.writers)
            flags = SeenOfCommits.ID_GIVEN_AGAIN if is_again else 0
            yield (name, "writes"), replace(begun, next_id=world.next_id + 1), flags
        elif writer.status is TransactionStatus.OPEN:
            sent = with_writer(world, number, replace(writer, status=TransactionStatus.FLUSHING))
            yield (name, "sends COMMIT"), replace(sent, flushing=(*world.flushing, number)), 0
        else:
            yield from self._outcomes(world, number, writer, name)

    def _outcomes(self, world: CommitWorld, number: int, writer: Writer, name: str) -> Iterator[Step]:
        """The answer comes once it is flushed, or the session is lost and the node asks."""
        if writer.status is TransactionStatus.COMMITTED and not writer.is_lost:
            yield (name, "is answered"), with_writer(world, number, replace(writer, answer=Outcome.COMMITTED)), 0
        asked_in = world.life if self.keeps_life else writer.life
        outcome = commit_outcome(world.status(writer.id), began_in=str(writer.life), asked_in=str(asked_in))
        if outcome is not Outcome.IN_PROGRESS:
            yield (name, "asks"), with_writer(world, number, replace(writer, answer=outcome)), SEEN[outcome]

    def faults(self, world: CommitWorld) -> tuple[Fault, ...]:
        return tuple(_faults(world.writers))


SEEN = {
    Outcome.COMMITTED: SeenOfCommits.PROVED,
    Outcome.ABORTED: SeenOfCommits.REFUSED,
    Outcome.UNKNOWN: SeenOfCommits.UNKNOWN,
}


def with_writer(world: CommitWorld, number: int, writer: Writer) -> CommitWorld:
    return replace(world, writers=(*world.writers[:number], writer, *world.writers[number + 1 :]))


def flushed(world: CommitWorld, commits: int) -> CommitWorld:
    """The oldest ones are durable; so is every id that was given before."""
    for number in world.flushing[:commits]:
        world = with_writer(world, number, replace(world.writers[number], status=TransactionStatus.COMMITTED))
        world = replace(world, flushed_id=max(world.flushed_id, world.writers[number].id + 1))
    return replace(world, flushing=world.flushing[commits:])


def crashed(world: CommitWorld, kept: int) -> CommitWorld:
    """The first `kept` were flushed; every session is lost, and every id that left no trace is given again."""
    world = flushed(world, kept)
    writers = tuple(_after_crash(one) for one in world.writers)
    return replace(world, writers=writers, flushing=(), life=world.life + 1, next_id=world.flushed_id)


def _after_crash(one: Writer) -> Writer:
    if not one.life or one.answer is not None or (one.status is TransactionStatus.ABORTED):
        return one
    was_sent = one.status in (TransactionStatus.FLUSHING, TransactionStatus.COMMITTED)
    return replace(
        one,
        is_lost=was_sent,
        status=TransactionStatus.COMMITTED if one.status is TransactionStatus.COMMITTED else TransactionStatus.ABORTED,
    )


def _faults(writers: Iterable[Writer]) -> Iterator[Fault]:
    for number, one in enumerate(writers, start=1):
        if one.answer is Outcome.COMMITTED and one.status is not TransactionStatus.COMMITTED:
            yield Fault("lost write", 1, f"n{number} heard that it has committed, and the store has lost it")
        if one.answer is Outcome.ABORTED and one.status is not TransactionStatus.ABORTED:
            yield Fault("lost write", 1, f"n{number} heard that nothing was committed, and it was")
