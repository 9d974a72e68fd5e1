"""Every metric of /metrics. The reference and the dashboard are checked against this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["gauge", "counter", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` is Prometheus's; of a histogram without `_bucket`, `_sum`, `_count`."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    meaning: str


METRICS = (
    Metric("schemalab_nodes", "gauge", ("state",), "Nodes that the cluster knows, by state: up, draining, down."),
    Metric("schemalab_node_up", "gauge", ("node",), "1 while the node answers, 0 while it does not or has left."),
    Metric("schemalab_node_open_transactions", "gauge", ("node",), "Open transactions that use some version."),
    Metric(
        "schemalab_node_long_waits",
        "gauge",
        ("node",),
        "Statements and transactions under way for longer than a lease.",
    ),
    Metric("schemalab_node_longest_wait_seconds", "gauge", ("node",), "The age of the oldest of them."),
    Metric("schemalab_statements_total", "counter", ("node",), "Statements answered or refused since the node began."),
    Metric(
        "schemalab_statement_retries_total",
        "counter",
        ("node",),
        "Statements tried again without the client's knowing.",
    ),
    Metric("schemalab_statement_errors_total", "counter", ("node", "sqlstate"), "Answers that were an error."),
    Metric("schemalab_statement_duration_seconds", "histogram", ("node",), "How long statements took on the node."),
    Metric("schemalab_requests_total", "counter", ("node", "table"), "Requests of crud that were answered, by table."),
    Metric(
        "schemalab_request_mismatches_total",
        "counter",
        ("node", "table"),
        "Requests that a storage refused for the version they were planned with.",
    ),
    Metric("schemalab_request_reloads_total", "counter", ("node", "table"), "Reloads of a table's schema."),
    Metric(
        "schemalab_request_joined_reloads_total",
        "counter",
        ("node", "table"),
        "Waits for a reload that another request had caused.",
    ),
    Metric(
        "schemalab_request_retries_total",
        "counter",
        ("node", "table"),
        "Requests that were tried again after a reload.",
    ),
    Metric(
        "schemalab_request_conflicts_total",
        "counter",
        ("node", "table"),
        "Requests that were tried again after a conflict.",
    ),
    Metric("schemalab_request_map_reduces_total", "counter", ("node", "table"), "Requests that went to all storages."),
    Metric("schemalab_request_reload_seconds_total", "counter", ("node", "table"), "Seconds that reloads took."),
    Metric(
        "schemalab_request_snapshot_age_seconds",
        "gauge",
        ("node", "table"),
        "The time since the node last learned which version is the newest.",
    ),
    Metric("schemalab_table_version", "gauge", ("table",), "The newest version of a table."),
    Metric(
        "schemalab_versions_in_use", "gauge", ("table",), "Versions of a table under a live lease: never more than 2."
    ),
    Metric(
        "schemalab_leases", "gauge", ("table", "age"), "Live leases on the newest, the previous, or an older version."
    ),
    Metric("schemalab_changes", "gauge", ("status",), "Changes, by status; those that have ended since the beginning."),
    Metric(
        "schemalab_change_wait_seconds",
        "gauge",
        ("change", "table"),
        "For how long a change that is under way has waited for leases in the step it is at.",
    ),
    Metric(
        "schemalab_reorganisation_rows_per_second",
        "gauge",
        ("change", "table", "kind"),
        "Rows a second of a reorganisation that runs.",
    ),
    Metric("schemalab_reorganisation_rows_done", "gauge", ("change", "table", "kind"), "Rows that it has done."),
    Metric(
        "schemalab_reorganisation_rows_expected",
        "gauge",
        ("change", "table", "kind"),
        "Rows that it has to do, in all.",
    ),
    Metric("schemalab_story_events_total", "counter", (), "Events of the cluster's story."),
)
BY_NAME = {one.name: one for one in METRICS}
