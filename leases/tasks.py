"""Regular tasks: expired leases are deleted, silent nodes reported. Missing a beat costs only time."""

from celery import shared_task

from leases import services

BEAT = {
    "leases: delete those that are over": {
        "task": "leases.tasks.expire_leases",
        "schedule": 2.0,
        "options": {"expires": 2},
    },
    "nodes: report who fell silent": {"task": "leases.tasks.watch_nodes", "schedule": 1.0, "options": {"expires": 1}},
}


@shared_task(name="leases.tasks.expire_leases", ignore_result=True)
def expire_leases() -> None:
    services.sweep_expired()


@shared_task(name="leases.tasks.watch_nodes", ignore_result=True)
def watch_nodes() -> None:
    services.watch_nodes()
