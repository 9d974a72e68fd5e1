"""The values of all metrics, from the database and from nodes' reports over Redis. While a node or Redis is away its
figures are missing, not zero."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate

from django.db.models import Count
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from catalog.database import database_clock_s
from catalog.live.snapshot import one_snapshot
from catalog.models import Table
from catalog.selectors import newest_seq
from catalog.story import CLUSTER
from changes.models import Change, Status
from changes.selectors import waits_now
from leases.models import Node
from leases.redis.samples import read_all, read_totals
from leases.selectors import leases_on
from leases.totals import BOUNDS_S, Totals
from schemalab.metrics.names import BY_NAME
from spark_tasks.models import ReorgRun, RunState

Family = GaugeMetricFamily | CounterMetricFamily | HistogramMetricFamily
TABLES_MAX = 1000
OF_REQUESTS = {
    "schemalab_requests_total": "requests",
    "schemalab_request_mismatches_total": "mismatches",
    "schemalab_request_reloads_total": "reloads",
    "schemalab_request_joined_reloads_total": "joined",
    "schemalab_request_retries_total": "retries",
    "schemalab_request_conflicts_total": "conflicts",
    "schemalab_request_map_reduces_total": "map_reduces",
    "schemalab_request_reload_seconds_total": "reload_s",
    "schemalab_request_snapshot_age_seconds": "snapshot_age_s",
}
"""Metrics of requests, and what nodes call them (`nodes.router.counters`)."""


class Cluster(Collector):
    def collect(self) -> Iterator[Family]:
        nodes = dict(Node.objects.order_by("name").values_list("name", "state"))
        yield from _of_nodes(nodes)
        totals = read_totals(nodes)
        yield from _of_statements(totals)
        yield from _of_requests(totals)
        with one_snapshot():
            yield from _of_tables()
            yield from _of_changes()
            yield _family("schemalab_story_events_total", [((), newest_seq(CLUSTER))])


def _family(name: str, values: Iterable[tuple[tuple[str, ...], float]]) -> Family:
    metric = BY_NAME[name]
    kinds = {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily}
    family = kinds[metric.kind](name, metric.meaning, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _of_nodes(nodes: dict[str, str]) -> Iterator[Family]:
    states = Counter(nodes.values())
    yield _family("schemalab_nodes", [((state.value,), states[state]) for state in Node.State])
    yield _family("schemalab_node_up", [((name,), float(state != Node.State.DOWN)) for name, state in nodes.items()])
    newest = {name: samples[0] for name, samples in read_all(nodes).items()}
    yield _family(
        "schemalab_node_open_transactions", [((name,), one.open_transactions) for name, one in newest.items()]
    )
    yield _family("schemalab_node_long_waits", [((name,), one.long_waits) for name, one in newest.items()])
    yield _family(
        "schemalab_node_longest_wait_seconds", [((name,), one.longest_wait_s) for name, one in newest.items()]
    )


def _of_statements(totals: dict[str, Totals]) -> Iterator[Family]:
    yield _family("schemalab_statements_total", [((node,), one.statements) for node, one in totals.items()])
    yield _family("schemalab_statement_retries_total", [((node,), one.retries) for node, one in totals.items()])
    refused = [
        ((node, sqlstate), count) for node, one in totals.items() for sqlstate, count in sorted(one.refused.items())
    ]
    yield _family("schemalab_statement_errors_total", refused)
    metric = BY_NAME["schemalab_statement_duration_seconds"]
    durations = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    for node, one in totals.items():
        bounds = [*(f"{bound:g}" for bound in BOUNDS_S), "+Inf"]
        durations.add_metric((node,), list(zip(bounds, accumulate(one.latencies), strict=True)), one.seconds)
    yield durations


def _of_requests(totals: dict[str, Totals]) -> Iterator[Family]:
    for metric, called in OF_REQUESTS.items():
        values = [
            ((node, table), counts[called])
            for node, one in totals.items()
            for table, counts in one.requests.items()
            if counts.get(called) is not None
        ]
        yield _family(metric, values)


def _of_tables() -> Iterator[Family]:
    live = Table.objects.filter(state=Table.State.LIVE).order_by("name").values_list("name", "version")[:TABLES_MAX]
    yield _family("schemalab_table_version", [((name,), version) for name, version in live])
    used: dict[str, set[int]] = {name: set() for name, _version in live}
    ages: Counter[tuple[str, str]] = Counter()
    for lease in leases_on():
        used.setdefault(lease.table, set()).add(lease.version)
        behind = lease.newest - lease.version
        ages[lease.table, "newest" if behind <= 0 else "previous" if behind == 1 else "older"] += 1
    yield _family("schemalab_versions_in_use", [((name,), len(versions)) for name, versions in used.items()])
    yield _family("schemalab_leases", sorted(ages.items()))


def _of_changes() -> Iterator[Family]:
    counts = dict(Change.objects.values_list("status").annotate(Count("id")))
    yield _family("schemalab_changes", [((status.value,), counts.get(status, 0)) for status in Status])
    waits = [((str(step.change_id), step.change.table_name), s) for step, s in waits_now(database_clock_s())]
    yield _family("schemalab_change_wait_seconds", waits)
    runs = list(
        ReorgRun.objects.filter(state=RunState.RUNNING, change_id__isnull=False).select_related("pulse").order_by("id")
    )
    tables = dict(Change.objects.filter(pk__in=[run.change_id for run in runs]).values_list("pk", "table_name"))
    labelled = [
        ((str(run.change_id), tables.get(run.change_id, ""), run.kind), run.pulse)
        for run in runs
        if hasattr(run, "pulse")
    ]
    yield _family("schemalab_reorganisation_rows_per_second", [(at, pulse.rows_per_s) for at, pulse in labelled])
    yield _family("schemalab_reorganisation_rows_done", [(at, pulse.rows_done) for at, pulse in labelled])
    yield _family("schemalab_reorganisation_rows_expected", [(at, pulse.rows_total) for at, pulse in labelled])
