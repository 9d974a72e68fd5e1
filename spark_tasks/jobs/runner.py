"""Running a reorganisation: claim it, do what is left of its work, say how it ended."""

import logging

from catalog.text.mistakes import in_words
from spark_tasks.jobs.heartbeat import heart_of_run
from spark_tasks.jobs.lifecycle import (
    FAILURES_MAX,
    RunFailed,
    WasClosed,
    WasPaused,
    claim_run,
    count_failure,
    end_run,
    let_another_try,
)
from spark_tasks.jobs.phases import WORK
from spark_tasks.models import Kind, RunState

log = logging.getLogger(__name__)


def run_reorganisation(run_id: int) -> None:
    """Do what is left of a run, unless another attempt is alive. May be called twice, at once or later."""
    claim = claim_run(run_id)
    if claim is None:
        return
    try:
        with heart_of_run(claim):
            WORK[Kind(claim.run.kind)](claim)
        end_run(claim, RunState.DONE)
    except WasClosed as closed:
        log.info("%s", closed)
    except WasPaused as paused:
        log.info("%s", paused)
        let_another_try(claim)
    except RunFailed as failure:
        end_run(claim, RunState.FAILED, error=str(failure))
    except Exception as error:
        log.exception("%s failed in attempt %s", claim.run, claim.run.attempt)
        if count_failure(claim) >= FAILURES_MAX:
            end_run(claim, RunState.FAILED, error=in_words(error))
        else:
            let_another_try(claim)
            raise
