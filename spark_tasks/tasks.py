"""Tasks of the queue `spark`: each may run twice and can resume. Jobs and Arrow are imported inside, since every Celery
process knows these tasks and one does them."""

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.db import connection, transaction

from catalog.services import append_event
from catalog.story import CLUSTER
from spark_tasks.services import send_audit, send_load, send_run
from spark_tasks.spark import jvm_watch, session
from spark_tasks.spark.warm_up_state import report
from storage.postgres import make_spare_tables

SPARES = 8

BEAT = {
    "keep-spare-tables": {"task": "spark_tasks.tasks.keep_spare_tables", "schedule": 2.0, "options": {"expires": 2}},
    "drop-storage": {"task": "spark_tasks.tasks.drop_storage", "schedule": 5.0, "options": {"expires": 5}},
    "resend-dead-runs": {"task": "spark_tasks.tasks.resend_dead_runs", "schedule": 2.0, "options": {"expires": 2}},
}


@shared_task
def reorganise(run_id: int) -> None:
    from spark_tasks.jobs.reorganisations import RUNS

    RUNS.run(run_id)


@shared_task
def load(job_id: int) -> None:
    from spark_tasks.jobs.loads import LOADS

    LOADS.run(job_id)


@shared_task
def audit(job_id: int) -> None:
    from spark_tasks.jobs.audits import AUDITS

    AUDITS.run(job_id)


@shared_task
def keep_spare_tables() -> None:
    with connection.cursor() as cursor:
        make_spare_tables(cursor, SPARES)


@shared_task
def drop_storage() -> None:
    from spark_tasks.reorganise.drop_storage import drop_storage_of_dropped_tables
    from spark_tasks.reorganise.drop_views import drop_views_of_old_versions

    drop_storage_of_dropped_tables()
    drop_views_of_old_versions()


@shared_task
def resend_dead_runs() -> None:
    from spark_tasks.jobs.audits import AUDITS
    from spark_tasks.jobs.loads import LOADS
    from spark_tasks.jobs.reorganisations import RUNS

    for run_id in RUNS.dead():
        send_run(run_id)
    for job_id in AUDITS.dead():
        send_audit(job_id)
    for job_id in LOADS.dead():
        send_load(job_id)


@shared_task
def warm_up() -> None:
    """Starts what the first reorganisation would wait for."""
    try:
        report.say("session")
        session.spark()
        report.say("python")
        session.warm_up()
    except Exception as error:
        report.say("failed", str(error))
        raise
    with transaction.atomic():
        append_event("spark warm", "spark", {"seconds": report.say("warm")}, [CLUSTER])


@worker_ready.connect
def warm_up_when_ready(sender: object, **_: object) -> None:
    """A worker of this queue starts its session in a task, and answers meanwhile."""
    if "spark@" in str(getattr(sender, "hostname", "")):
        report.begin()
        jvm_watch.begin()
        warm_up.delay()


@worker_shutting_down.connect
def say_no_more(**_: object) -> None:
    report.end()
