"""The metrics are those of the table: in the reference, and in every query of the dashboard."""

import json
import re
from pathlib import Path

import pytest

from schemalab.metrics.names import BY_NAME, METRICS, Metric

DOCS = Path(__file__).parents[2] / "docs"
DASHBOARD = json.loads((DOCS / "grafana" / "schema-lab.json").read_text())
QUERIES = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]
OF_HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


def metric_of(name: str) -> Metric | None:
    """The metric that a name in a query is of."""
    known = BY_NAME.get(OF_HISTOGRAM.sub("", name))
    is_histogram = known is not None and known.kind == "histogram"
    return known if is_histogram == (OF_HISTOGRAM.search(name) is not None) else BY_NAME.get(name)


def test_the_reference_has_each_metric_as_it_is() -> None:
    rows = re.findall(
        r"^\| `(schemalab_\w+)` \| (\w+) \| (.*?) \| (.*?) \|$",
        (DOCS / "reference/metrics.md").read_text(),
        re.MULTILINE,
    )
    written = [(name, kind, tuple(re.findall(r"`(\w+)`", labels)), meaning) for name, kind, labels, meaning in rows]
    assert written == [(one.name, one.kind, one.labels, one.meaning) for one in METRICS]


def test_names_are_as_prometheus_wants_them() -> None:
    assert [one.name for one in METRICS if (one.kind == "counter") != one.name.endswith("_total")] == []
    assert len(BY_NAME) == len(METRICS)


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[f"{title} {n}" for n, (title, _) in enumerate(QUERIES)])
def test_a_query_of_the_dashboard_uses_what_exists(title: str, query: str) -> None:
    names = re.findall(r"schemalab_\w+", query)
    assert names
    found = {name: metric_of(name) for name in names}
    assert [name for name, metric in found.items() if metric is None] == []
    labels = {label for metric in found.values() if metric for label in metric.labels} | {"le"}
    used = re.findall(r"by \(([\w, ]+)\)", query) + re.findall(r"[{,]\s*(\w+)\s*(?:=|!)", query)
    assert {label for group in used for label in re.split(r",\s*", group)} <= labels


def test_the_dashboard_names_no_source_of_ours() -> None:
    """Whoever imports it chooses their Prometheus."""
    assert {panel["datasource"]["uid"] for panel in DASHBOARD["panels"]} == {"${source}"}
