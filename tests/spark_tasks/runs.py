"""Moving a stage through a change, and running its reorganisations here and now."""

from dataclasses import dataclass
from typing import Any

from catalog.elements import IndexId, State
from spark_tasks.jobs.claim import Claim
from spark_tasks.jobs.phases import prepare_fill
from spark_tasks.jobs.reorganisations import RUNS
from spark_tasks.models import Kind, ReorgRun
from spark_tasks.services import RunStatus, close_run, run_status, start_run
from storage.integrity.clauses import Violation
from storage.pairs import index_entry
from tests.storage.stage import BY_NAME, Stage

INDEX = {"kind": "index", "id": BY_NAME.id, "name": BY_NAME.name}


def to_filling(stage: Stage) -> None:
    """Index by_name is write-only and filling, everything older drained."""
    stage.publish(stage.now.with_index(BY_NAME))
    stage.publish(stage.now.with_index_state(BY_NAME.id, State.WRITE_ONLY, filling=True))


def to_public(stage: Stage) -> None:
    stage.publish(stage.now.with_index_state(BY_NAME.id, State.PUBLIC))


@dataclass
class Runs:
    """The runs of one change; messages are not sent, `do` runs them in this thread."""

    stage: Stage
    change_id: int

    def start(self, kind: str, *elements: dict[str, object]) -> int:
        """The run of a step over the elements given, by_name when none is."""
        return start_run(self.change_id, self.stage.table_id, kind, elements or [INDEX], self.stage.now.version)

    def do(self, kind: str, *elements: dict[str, object]) -> RunStatus:
        run_id = self.start(kind, *elements)
        RUNS.run(run_id)
        return run_status(run_id)

    def begin_fill(self, *elements: dict[str, object]) -> None:
        """The first act of a fill: old tombstones are removed, and its ranges stored (R6)."""
        prepare_fill(ReorgRun.objects.get(id=self.start("fill", *elements)))

    def of(self, kind: Kind) -> ReorgRun:
        return ReorgRun.objects.get(change_id=self.change_id, kind=kind)

    def add_index(self) -> None:
        """Fill, verify, close, public, purge: all of it, without a writer."""
        to_filling(self.stage)
        assert self.do("fill").state == "done"
        assert self.do("verify").state == "done"
        close_run(self.of(Kind.FILL).id)
        to_public(self.stage)
        assert self.do("purge").state == "done"


def entries(stage: Stage) -> set[bytes]:
    """The keys of all live entries of by_name."""
    start = index_prefix(stage)
    return {k for pairs in stage.contents() for k, v in pairs.items() if k.startswith(start) and v is not None}


def tombstones(stage: Stage) -> set[bytes]:
    return {key for pairs in stage.contents() for key, value in pairs.items() if value is None}


def index_prefix(stage: Stage) -> bytes:
    from storage.pairs import prefix

    return prefix(stage.now, stage.now.placement.id, IndexId(BY_NAME.id))


def entry_of(stage: Stage, row: object) -> bytes:
    return index_entry(stage.now, stage.now.placement, stage.now.index(BY_NAME.id), row)[0]  # type: ignore[arg-type]


def claim_run(run_id: int) -> Claim | None:
    """The claim of the attempt that works on the run from now on; None while another one is alive or it has ended."""
    run = RUNS.claim(run_id)
    return None if run is None else Claim(run, run.token)


def violation_of(found: dict[str, Any]) -> Violation:
    """A violation that a report names."""
    return Violation(found["clause"], found["storage"], bytes.fromhex(found["key"]), found["why"])
