"""The Celery application: four queues, no result backend, and a timetable to which each app adds its own. A change's
driver holds a thread of its worker for its life, so expirations and watching have a queue of their own. Tasks may run
twice: a message is acknowledged when its task is done. Regular tasks are in an app's `tasks.BEAT`."""

import os
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from celery import Celery
from celery.signals import worker_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schemalab.settings")

from django.conf import settings

from schemalab.connections import broker
from schemalab.supervisor import heartbeat
from schemalab.supervisor.children import SUPERVISOR
from schemalab.supervisor.end_with import end_with
from spark_tasks.spark import jvm_watch

APPS_WITH_TASKS = ("catalog", "leases", "spark_tasks", "changes", "nodes", "lab")
warnings.filterwarnings("ignore", "You're running the worker with superuser privileges")  # in containers we do
REDELIVER_S = 6 * 3600  # longer than any task: Redis gives an unacknowledged message to another worker after this
BROKER_S_MAX = 5.0  # a Redis that is frozen holds nobody up for longer


def kombu_url(redis_url: str) -> str:
    """Kombu writes redis+socket://PATH where redis-py writes unix://PATH."""
    prefix = "unix://"
    return f"redis+socket://{redis_url.removeprefix(prefix)}" if redis_url.startswith(prefix) else redis_url


broker.install()
heartbeat.conditions.append(jvm_watch.is_answering)
app = Celery("schemalab")
app.conf.update(
    broker_url=kombu_url(settings.REDIS_URL),
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "visibility_timeout": REDELIVER_S,
        "global_keyprefix": "celery:",
        "socket_timeout": BROKER_S_MAX,
        "socket_connect_timeout": BROKER_S_MAX,
    },
    task_default_queue="default",
    task_routes={
        "spark_tasks.tasks.*": {"queue": "spark"},
        "lab.tasks.*": {"queue": "lab"},
        "lab.tasks.drop_old_sandboxes": {"queue": "maintenance"},
        "lab.tasks.end_lost_replays": {"queue": "maintenance"},
        "lab.tasks.replay": {"queue": "default"},
        "leases.tasks.*": {"queue": "maintenance"},
        "nodes.tasks.end_lost_traffic": {"queue": "maintenance"},
        "changes.tasks.find_stuck": {"queue": "maintenance"},
        "changes.tasks.free_orphaned_tables": {"queue": "maintenance"},
        "changes.tasks.keep_records": {"queue": "maintenance"},
        "changes.tasks.collect_notifications": {"queue": "maintenance"},
    },
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_consumer="schemalab.connections.broker:WaitingConsumer",
    beat_scheduler="schemalab.connections.broker:BeatingScheduler",
    worker_cancel_long_running_tasks_on_connection_loss=False,
    timezone="UTC",
    enable_utc=True,
)
app.autodiscover_tasks(APPS_WITH_TASKS)


@worker_init.connect
def end_with_the_supervisor(**_: Any) -> None:
    if heartbeat.VARIABLE in os.environ:
        end_with(int(os.environ[SUPERVISOR]))


@worker_init.connect
def refuse_another_layout(**_: Any) -> None:
    """A worker with another layout would read and write rows in the wrong storage."""
    from django.db import DatabaseError, connection

    from storage.postgres import layout_mistake

    try:
        with connection.cursor() as cursor:
            mistake = layout_mistake(cursor, storages=settings.STORAGE_COUNT, buckets=settings.BUCKET_COUNT)
    except DatabaseError:
        return  # its tasks will say so
    finally:
        connection.close()
    if mistake:
        raise SystemExit(mistake)


@app.on_after_finalize.connect
def add_timetables(sender: Celery, **_: Any) -> None:
    for name in APPS_WITH_TASKS:
        if find_spec(f"{name}.tasks"):
            sender.conf.beat_schedule.update(getattr(import_module(f"{name}.tasks"), "BEAT", {}))
