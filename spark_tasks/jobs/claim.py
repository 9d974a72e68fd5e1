"""The right of one attempt to work on a run, and the progress of its marks."""

from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.selectors import descriptor_at
from spark_tasks.jobs.lifecycle import Refused, WasClosed
from spark_tasks.models import ReorgRun
from spark_tasks.runs.run_elements import Elements, elements_of


class RunFailed(Refused):
    """The reorganisation cannot be done."""


@dataclass(frozen=True, slots=True)
class Claim:
    run: ReorgRun
    token: int

    @property
    def elements(self) -> Elements:
        return elements_of(self.run.elements)

    @property
    def pool(self) -> str:
        """The run's share of the Spark session (FAIR scheduling)."""
        return f"run-{self.run.id}"

    def descriptor(self) -> Descriptor:
        return descriptor_at(self.run.table_id, self.run.version)


def require_open(claim: Claim) -> None:
    """Raises `WasClosed` for a run that was closed or taken over."""
    if not ReorgRun.objects.select_for_update().filter(id=claim.run.id, token=claim.token, is_closed=False):
        raise WasClosed(f"{claim.run} was closed or taken over in attempt {claim.run.attempt}")


MARKS = """WITH marks AS (
    SELECT coalesce(sum(rows_done), 0) AS done, sum(rows_total) AS total
    FROM spark_tasks_reorgrange WHERE run_id = %(run)s
)"""
TO_MARKS = """rows_done = greatest(pulse.rows_done, marks.done), rows_total = coalesce(marks.total, pulse.rows_total),
    share = greatest(pulse.share, least(1, coalesce(marks.done::float8 / nullif(marks.total, 0), 0)))"""
"""The progress of a run is that of its marks, and never goes back (R11). LEAST passes over NULL: without marks it would
be all."""
CATCH_UP = f"{MARKS} UPDATE spark_tasks_reorgpulse pulse SET {TO_MARKS} FROM marks WHERE pulse.run_id = %(run)s"
