"""Starts, pauses and closes the runs of a change, and waits for them. A run outlives the transaction that starts it, so
a replaced driver could start one that nothing closes (C3), or touch its successor's: each transaction here checks the
change's row and the driver's lease first (X2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.services import control_transaction
from catalog.text.message import KINDS, named_element
from catalog.text.sentence import FOLLOWED, Sentence, sentence_of
from changes.driver.listener import Listener
from changes.driver.transitions import Progress, lock_driven
from changes.driver.versions import LOOK_AGAIN_S
from changes.executor import events
from changes.plan.model import StepKind, element_json
from spark_tasks import services as runs
from spark_tasks.models import ReorgPulse, ReorgRun, RunRequest, RunState


class Reorganisations:
    def __init__(self, progress: Progress, listener: Listener) -> None:
        self.progress, self.listener = progress, listener

    def _check_lease(self, cursor: Any) -> None:
        lock_driven(cursor, self.progress.change_id, self.progress.lease)

    def start(self, effect: events.StartRun) -> None:
        """Starts or continues a run; a failed one that is retried begins again with its unfinished ranges."""
        progress, kind = self.progress, effect.kind.value
        with control_transaction() as cursor:
            self._check_lease(cursor)
            mine = ReorgRun.objects.filter(change_id=progress.change_id, kind=kind, version=effect.version)
            if progress.state.trouble:
                failed = mine.filter(state=RunState.FAILED, is_closed=False)
                failed.update(state=RunState.WAITING, failures=0, silences=0, error="")
            ReorgPulse.objects.filter(run__in=mine, wanted=RunRequest.PAUSE).update(wanted=RunRequest.RUN)
            elements = [element_json(one) for one in effect.elements]
            progress.run_id = runs.start_run(progress.change_id, progress.table_id, kind, elements, effect.version)

    def pause(self, effect: events.PauseRun) -> None:
        """R11: no chunk commits until the run continues. Then the change counts as paused."""
        states = (RunState.WAITING, RunState.RUNNING)
        mine = ReorgRun.objects.filter(change_id=self.progress.change_id, state__in=states)
        for run in mine.filter(is_closed=False).order_by("id"):
            runs.pause_run(run.pk, check=self._check_lease)
        with self.progress.transition() as now:
            now.feed(events.RunPaused(effect.kind))
            now.feed_requests()

    def close(self, _: events.CloseRun) -> None:
        """R7: nothing of any run of the change is written after this."""
        for run in ReorgRun.objects.filter(change_id=self.progress.change_id, is_closed=False).order_by("id"):
            runs.close_run(run.pk, check=self._check_lease)
        with self.progress.transition() as now:
            now.feed(events.RunClosed())
            now.feed_requests()

    def wait(self) -> None:
        progress, run_id = self.progress, self.progress.run_id
        assert run_id is not None, f"change {progress.change_id} waits for nothing: {progress.state.mode}"
        event = _end_of(run_id)
        if event is None:
            wanted = {("schemalab_reorg", str(run_id)), ("schemalab_change", str(progress.change_id))}
            self.listener.wait(wanted, LOOK_AGAIN_S)
            event = _end_of(run_id)
        if event is None and not progress.has_requests():
            return
        with progress.transition() as now:
            if not now.feed_requests() and event is not None:
                now.feed(event)


FOUND = (
    "{n} violations of {element}",
    "at least {n} violations of {element}",
    "{n} rows break {element}",
    "at least {n} rows break {element}",
)
"""The first line of a verification that failed, as `spark_tasks.reorganise.verify` has it."""


def _error(error: str, violations: Sequence[Mapping[str, Any]]) -> str:
    first, _, rest = error.partition("\n")
    for one in violations:
        kind = max((kind for kind in KINDS if one["element"].startswith(f"{kind} ")), key=len, default="")
        if kind:
            element = sentence_of(named_element(kind, one["element"].removeprefix(f"{kind} ")))
            n = f"{one.get('total', 0):,}"
            for line in (Sentence(words, n=n, element=element) for words in FOUND):
                if line == first:
                    return Sentence(FOLLOWED, first=line, rest=rest) if rest else line
    return error


def _end_of(run_id: int) -> events.Event | None:
    status = runs.run_status(run_id)
    if not status.has_ended:
        return None
    kind = StepKind(status.kind)
    if status.state != RunState.DONE:
        return events.RunFailed(kind, _error(status.error, status.violations))
    return events.RunDone(kind, status.rows_done, status.seconds)
