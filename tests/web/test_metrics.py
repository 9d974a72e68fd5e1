"""/metrics: who may read it, and what it says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.utils.timezone import now
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from catalog.models import Table
from catalog.services import append_event
from changes.models import Change, Step
from leases.models import Node
from leases.samples import Sample
from leases.totals import Totals
from nodes.router.counters import Counts
from schemalab.metrics.names import BY_NAME, METRICS
from spark_tasks.models import ReorgPulse, ReorgRun, RunState

TOKEN = "a secret of some length"


def read(client: Client, **headers: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The samples by name and labels."""
    answer = client.get("/metrics", headers={"Host": "localhost", **headers})
    assert answer.status_code == 200, answer.content
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def labels(**found: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(found.items()))


@pytest.fixture
def busy(flights: Table, redis_url: str) -> Any:
    """n1 is up and reports, n2 is down; a change waits for 90 s, another one fills; three versions are leased."""
    Node.objects.create(name="n1", incarnation=3, host="127.0.0.1", port=1, pid=1)
    Node.objects.create(name="n2", incarnation=1, host="127.0.0.1", port=2, pid=2, state="down")
    with connection.cursor() as cursor:
        for version in (0, 1, 2):
            cursor.execute(
                "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
                " VALUES (%s, %s, 'n1', 3, clock_timestamp() + interval '1 minute')",
                [flights.pk, version],
            )
    plan = {"title": "x"}
    common = {"table_id": flights.pk, "table_ids": [flights.pk], "table_name": "flights", "plan": plan, "who": "sam"}
    since = {"waited_since": now().timestamp() - 90}
    waiting = Change.objects.create(statement="a", status="waiting", executor_state=since, **common)
    Step.objects.create(change=waiting, number=1, kind="drain", started_at=now() - timedelta(hours=1))
    Change.objects.create(statement="b", status="failed", **common)
    run = ReorgRun.objects.create(
        change_id=waiting.pk, table_id=flights.pk, kind="fill", state=RunState.RUNNING, version=2, elements=[]
    )
    ReorgPulse.objects.create(run=run, rows_done=50, rows_total=200, rows_per_s=12.5)
    with transaction.atomic():
        append_event("node joined", "n1", {"node": "n1", "incarnation": 3}, ["cluster"])
    counts = Counts(requests=7, mismatches=2).to_json()
    requests = {"flights": {**counts, "snapshot_age_s": 1.5}, "quiet": {**counts, "snapshot_age_s": None}}
    totals = Totals(refused={"23505": 4}, retries=2, requests=requests)
    totals.count({900.0: 3, 20_000.0: 1})
    with Redis.from_url(redis_url) as client:
        client.lpush(
            "schemalab:samples:n1",
            Sample(1.0, 4, 1.0, 2.0, open_transactions=5, long_waits=1, longest_wait_s=31).to_text(),
        )
        client.set("schemalab:totals:n1", totals.to_text(3))
        yield waiting
        client.delete("schemalab:samples:n1", "schemalab:totals:n1")


def test_each_figure(busy: Change) -> None:
    found = read(Client())
    change = str(busy.pk)
    expected = {
        ("schemalab_nodes", labels(state="up")): 1,
        ("schemalab_nodes", labels(state="down")): 1,
        ("schemalab_node_up", labels(node="n1")): 1,
        ("schemalab_node_up", labels(node="n2")): 0,
        ("schemalab_node_open_transactions", labels(node="n1")): 5,
        ("schemalab_node_longest_wait_seconds", labels(node="n1")): 31,
        ("schemalab_statements_total", labels(node="n1")): 4,
        ("schemalab_statement_retries_total", labels(node="n1")): 2,
        ("schemalab_statement_errors_total", labels(node="n1", sqlstate="23505")): 4,
        ("schemalab_statement_duration_seconds_bucket", labels(node="n1", le="0.001")): 3,
        ("schemalab_statement_duration_seconds_bucket", labels(node="n1", le="+Inf")): 4,
        ("schemalab_statement_duration_seconds_count", labels(node="n1")): 4,
        ("schemalab_requests_total", labels(node="n1", table="flights")): 7,
        ("schemalab_request_mismatches_total", labels(node="n1", table="flights")): 2,
        ("schemalab_request_snapshot_age_seconds", labels(node="n1", table="flights")): 1.5,
        ("schemalab_table_version", labels(table="flights")): 2,
        ("schemalab_versions_in_use", labels(table="flights")): 3,
        ("schemalab_leases", labels(table="flights", age="newest")): 1,
        ("schemalab_leases", labels(table="flights", age="previous")): 1,
        ("schemalab_leases", labels(table="flights", age="older")): 1,
        ("schemalab_changes", labels(status="waiting")): 1,
        ("schemalab_changes", labels(status="failed")): 1,
        ("schemalab_changes", labels(status="done")): 0,
        ("schemalab_reorganisation_rows_per_second", labels(change=change, table="flights", kind="fill")): 12.5,
        ("schemalab_reorganisation_rows_done", labels(change=change, table="flights", kind="fill")): 50,
        ("schemalab_reorganisation_rows_expected", labels(change=change, table="flights", kind="fill")): 200,
        ("schemalab_story_events_total", ()): 1,
    }
    assert {key: found.get(key) for key in expected} == expected
    assert 90 <= found["schemalab_change_wait_seconds", labels(change=change, table="flights")] < 200
    assert ("schemalab_statements_total", labels(node="n2")) not in found


def test_every_metric_is_there_as_the_table_has_it(busy: Change) -> None:
    families = list(
        text_string_to_metric_families(Client().get("/metrics", headers={"Host": "localhost"}).content.decode())
    )
    found = {one.name + ("_total" if one.type == "counter" else ""): one for one in families}
    assert sorted(found) == sorted(BY_NAME)
    assert {name: (one.type, one.documentation) for name, one in found.items()} == {
        one.name: (one.kind, one.meaning) for one in METRICS
    }
    used = {name: {label for sample in one.samples for label in sample.labels} - {"le"} for name, one in found.items()}
    assert used == {one.name: set(one.labels) for one in METRICS}


def test_openmetrics_for_who_asks(db: None) -> None:
    answer = Client().get(
        "/metrics", headers={"Host": "localhost", "Accept": "application/openmetrics-text; version=1.0.0"}
    )
    assert answer["Content-Type"].startswith("application/openmetrics-text")
    assert answer.content.endswith(b"# EOF\n")


@pytest.mark.parametrize(
    ("token", "address", "headers", "status"),
    [
        pytest.param("", "127.0.0.1", {}, 200, id="this machine"),
        pytest.param("", "::1", {}, 200, id="this machine, IPv6"),
        pytest.param("", "10.0.0.7", {}, 403, id="another machine"),
        pytest.param("", "127.0.0.1", {"X-Forwarded-For": "10.0.0.7"}, 403, id="through a proxy of this machine"),
        pytest.param("", "127.0.0.1", {"Host": "testserver"}, 403, id="through a proxy that adds no header"),
        pytest.param("", "10.0.0.7", {"Authorization": f"Bearer {TOKEN}"}, 403, id="a token nobody has set"),
        pytest.param("", "10.0.0.7", {"Authorization": "Bearer "}, 403, id="an empty token"),
        pytest.param(TOKEN, "10.0.0.7", {"Authorization": f"Bearer {TOKEN}"}, 200, id="whoever bears the token"),
        pytest.param(TOKEN, "10.0.0.7", {"Authorization": "Bearer other"}, 401, id="a wrong token"),
        pytest.param(TOKEN, "10.0.0.7", {"Authorization": f"Basic {TOKEN}"}, 401, id="a token of another scheme"),
        pytest.param(TOKEN, "127.0.0.1", {}, 401, id="with a token set this machine needs it too"),
    ],
)
def test_who_may_read(db: None, settings: Any, token: str, address: str, headers: dict[str, str], status: int) -> None:
    settings.METRICS_TOKEN = token
    asked = {"Host": "127.0.0.1", **headers}
    assert Client(REMOTE_ADDR=address).get("/metrics", headers=asked).status_code == status


def test_a_session_is_no_way_in(client_of: Any, settings: Any) -> None:
    olga = client_of("olga")
    assert olga.get("/metrics", REMOTE_ADDR="10.0.0.7").status_code == 403
    settings.METRICS_TOKEN = TOKEN
    assert olga.get("/metrics").status_code == 401


def test_without_the_database_it_says_so(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr("schemalab.metrics.reading._of_nodes", away)
    answer = Client().get("/metrics", headers={"Host": "localhost"})
    assert (answer.status_code, answer.content) == (503, b"the database does not answer\n")
