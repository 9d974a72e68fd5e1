"""Sentences about an explorer's model: its change on its own small tables, and the chunks of a fill, range by range."""

import re

from lab.cluster import reorganisation
from lab.cluster.control_plane import LabError
from lab.cluster.driver import drive
from lab.explorer.model import BadModel, model_in
from lab.explorer.plans.program import plan_of
from lab.explorer.plans.small_tables import tables_of
from lab.scripts.commands import Lab, Match, command
from lab.scripts.text import key_of, literals
from storage.store import MemoryStore

KEY = re.compile(r"\([^()]*\)")


@command("model JSON", r"model (\{.*\})", "the change of an explorer's model begins, on its own tables")
def _model(lab: Lab, match: Match) -> None:
    if lab.world.control.published:
        raise LabError("a model has tables of its own: it comes before any other")
    try:
        model = model_in(match[1])
        plan = plan_of(model)
    except BadModel as error:
        raise LabError(str(error)) from error
    lab.world.store = MemoryStore(storages=model.storages_there)
    for table in tables_of(model, model.stages[0], (1, 1)):
        lab.world.control.published[table.table_id] = [table]
        lab.world.say(f"there is {table}")
    lab.changes.append(drive(lab.world, len(lab.changes) + 1, plan))


@command("chunk: read (KEY), ..", r"chunk: read (\(.+\))", "an attempt reads the rows of a range, and puts nothing yet")
def _read(lab: Lab, match: Match) -> None:
    run = lab.change.run
    newest = lab.world.control.newest(run.table)
    keys = frozenset(key_of(newest, literals(key)) for key in KEY.findall(match[1]))
    chunk = reorganisation.read_range(lab.world, run, keys)
    lab.world.say(f"read {reorganisation.chunk_text(lab.world, run, chunk)}")


@command("chunk: put [N]", r"chunk: put(?: (\d+))?", "of the attempts that have read, the oldest, or the Nth, puts")
def _put(lab: Lab, match: Match) -> None:
    run, number = lab.change.run, int(match[1] or 1)
    if not 1 <= number <= len(run.chunks):
        raise LabError(f"{len(run.chunks)} attempts have read and not put: there is no {number}th")
    put = reorganisation.put_chunk(lab.world, run, run.chunks[number - 1])
    lab.world.say(f"filled {run.name}: {put} put")


@command("chunk: none left", r"chunk: none left", "every range is done")
def _none_left(lab: Lab, match: Match) -> None:
    lab.change.run.is_finished = True


@command("chunk: purge", r"chunk: purge", "the tombstones of the fill are removed while it runs (R7 forbids it)")
def _purge(lab: Lab, match: Match) -> None:
    run = lab.change.run
    lab.world.say(f"purged {run.name}: {reorganisation.purge(lab.world, run.table, run.elements)} tombstones")
