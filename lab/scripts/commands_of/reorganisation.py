"""Sentences about reorganisation done by hand, one chunk at a time."""

from catalog.text.sentence import Sentence
from changes.executor.events import RunFailed
from changes.plan.model import StepKind, pairs_of
from lab.cluster import reorganisation
from lab.cluster.control_plane import LabError
from lab.cluster.driver import filled
from lab.scripts.commands import Lab, Match, command
from storage.pairs import CannotDerive

ELEMENT = r"(\w+(?: \(as \w+\)|\([\w, ]+\)(?: on \d+ storages?)?)?)"
"""An index or a column by its name; `age (as text)` is the twin of a column whose type changes."""


@command(
    "fill INDEX [N rows]",
    r"fill (\w+)(?: (\d+) rows?)?",
    "read rows and put their entries (R2, R3); before the first, old tombstones are cleared (R6)",
)
def _fill(lab: Lab, match: Match) -> None:
    put = reorganisation.fill(lab.world, lab.run_of(match[1]), int(match[2]) if match[2] else None)
    lab.world.say(filled(match[1], put))


@command("read INDEX [N rows]", rf"read {ELEMENT}(?: (\d+) rows?)?", "an attempt reads rows and puts nothing yet")
def _read(lab: Lab, match: Match) -> None:
    run = lab.run_of(match[1])
    if not lab.may_read(match[1]):
        raise LabError(f"no chunk of {match[1]} is handed out: it is not being filled")
    chunk = reorganisation.read_chunk(lab.world, run, int(match[2]) if match[2] else None)
    lab.world.say(f"read {reorganisation.chunk_text(lab.world, run, chunk)}")


@command(
    "put INDEX [last]", rf"put {ELEMENT}( last)?", "the attempt that has waited longest puts what it read, or the last"
)
def _put(lab: Lab, match: Match) -> None:
    run = lab.run_of(match[1])
    if not run.chunks:
        raise LabError(f"nothing was read for {match[1]}")
    chunk = run.chunks[-1 if match[2] else 0]
    try:
        lab.world.say(filled(match[1], reorganisation.put_chunk(lab.world, run, chunk)))
    except CannotDerive as error:
        _fail(lab, run, str(error))


def _fail(lab: Lab, run: reorganisation.Run, error: str) -> None:
    """A row without such a value ends the fill, and rolls its change back."""
    for driver in lab.changes:
        if driver.started is run and driver.step is not None and driver.step.kind is StepKind.FILL:
            driver.hears(lab.world, RunFailed(StepKind.FILL, error))
            return
    raise LabError(error)


@command("verify INDEX", r"verify (\w+)", "compare rows and entries, both ways (R10)")
def _verify(lab: Lab, match: Match) -> None:
    table, element = lab.element(match[1])
    wrong = reorganisation.verify(lab.world, table, (element,))
    for line in wrong or [Sentence("verified {elements}", elements=match[1])]:
        lab.world.say(line)


@command("close INDEX", r"close (\w+)", "close the run (R7)")
def _close(lab: Lab, match: Match) -> None:
    reorganisation.close(lab.run_of(match[1]))


@command("delete INDEX", r"delete (\w+)", "remove all its entries and tombstones (R8)")
def _delete(lab: Lab, match: Match) -> None:
    table, element = lab.element(match[1])
    lab.world.say(f"deleted all {pairs_of((element,))}: {reorganisation.delete(lab.world, table, (element,))}")


@command("purge INDEX", r"purge (\w+)", "remove the tombstones of the fill (R8)")
def _purge(lab: Lab, match: Match) -> None:
    table, element = lab.element(match[1])
    count = reorganisation.purge(lab.world, table, (element,))
    lab.world.say(Sentence("purged {elements}: {count} tombstones", elements=element.name, count=count))
