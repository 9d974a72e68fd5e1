"""Live parts about Spark: warm-up, bulk loads, a table's last audit."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from catalog.live import snapshot
from catalog.models import Table
from spark_tasks.models import AuditJob, LoadJob, RunState
from spark_tasks.spark.warm_up_state import PHASES
from spark_tasks.spark.warm_up_state import read as read_state

VIOLATIONS_SHOWN = 20
FAILED_SHOWN = timedelta(days=1)
Json = dict[str, Any]


def _spark(_id: int) -> Json:
    worker = read_state() or {}
    phase = worker.get("phase", "absent")
    state = {"phase": phase, "step": PHASES.index(phase) + 1 if phase in PHASES else 0, "steps": len(PHASES)}
    return state | {"began_at": worker.get("began_at"), "error": worker.get("error", "")}


def _loads(_id: int) -> Json:
    names = dict(Table.objects.values_list("pk", "name"))
    later = LoadJob.objects.filter(table_id=OuterRef("table_id"), path=OuterRef("path"), pk__gt=OuterRef("pk"))
    is_old = Q(state=RunState.FAILED) & (Q(ended_at__lt=Now() - FAILED_SHOWN) | Exists(later))
    jobs = LoadJob.objects.exclude(state=RunState.DONE).exclude(is_old).order_by("pk")
    loads = [_load(job, names.get(job.table_id, "?")) for job in jobs]
    return {"loads": loads, "is_busy": any(load["state"] in (RunState.WAITING, RunState.RUNNING) for load in loads)}


def _load(job: LoadJob, table: str) -> Json:
    return {
        "id": job.pk,
        "table": table,
        "table_id": job.table_id,
        "file": Path(job.path).name,
        "state": job.state,
        "done": job.rows_done,
        "rows_per_s": round(job.rows_per_s),
        "error": job.error,
    }


def _audit(table_id: int) -> Json:
    newest = AuditJob.objects.filter(table_id=table_id).order_by("-pk").first()
    ended = AuditJob.objects.filter(table_id=table_id, ended_at__isnull=False).order_by("-pk").first()
    is_running = newest is not None and newest.ended_at is None
    return {"is_running": is_running, "is_busy": is_running, "last": None if ended is None else _verdict(ended)}


def _verdict(job: AuditJob) -> Json:
    shown = job.violations[:VIOLATIONS_SHOWN]
    count = len(job.violations) if job.violations_total is None else job.violations_total
    return {
        "is_clean": job.state == RunState.DONE and not count,
        "error": job.error,
        "versions": job.versions,
        "rows": job.rows,
        "pairs": job.pairs,
        "violations": shown,
        "count": count,
        "shown": len(shown) if len(shown) < count else None,
        "snapshot_s": job.snapshot_s,
        "ended_at": job.ended_at.isoformat() if job.ended_at else None,
    }


snapshot.register("cluster", "spark", "parts/spark.html", _spark, is_sampled=True)
snapshot.register("cluster", "load", "parts/load.html", _loads)
snapshot.register("table", "audit", "parts/audit.html", _audit)
