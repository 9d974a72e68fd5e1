"""Regular tasks: expired leases are deleted, silent nodes reported, seconds recorded. A missed beat costs only time."""

from celery import shared_task

from leases import services
from leases.recorder.seconds import record_seconds
from leases.recorder.trim import trim

BEAT = {
    "leases: delete those that are over": {
        "task": "leases.tasks.expire_leases",
        "schedule": 2.0,
        "options": {"expires": 2},
    },
    "nodes: report who fell silent": {"task": "leases.tasks.watch_nodes", "schedule": 1.0, "options": {"expires": 1}},
    "the cluster: record its seconds": {
        "task": "leases.tasks.record_cluster",
        "schedule": 2.0,
        "options": {"expires": 2},
    },
    "the cluster: delete what is too old": {
        "task": "leases.tasks.trim_records",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
}


@shared_task(name="leases.tasks.expire_leases", ignore_result=True)
def expire_leases() -> None:
    services.sweep_expired()


@shared_task(name="leases.tasks.watch_nodes", ignore_result=True)
def watch_nodes() -> None:
    services.watch_nodes()


@shared_task(name="leases.tasks.record_cluster", ignore_result=True)
def record_cluster() -> None:
    record_seconds()


@shared_task(name="leases.tasks.trim_records", ignore_result=True)
def trim_records() -> None:
    trim()
