"""A regular task: runs of traffic whose process ended without a word are ended."""

from celery import shared_task

from nodes.traffic import runs

BEAT = {
    "traffic: end runs that are lost": {
        "task": "nodes.tasks.end_lost_traffic",
        "schedule": 10.0,
        "options": {"expires": 10},
    }
}


@shared_task
def end_lost_traffic() -> None:
    runs.end_lost()
