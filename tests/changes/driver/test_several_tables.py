"""L11: a foreign key moves in both of its tables at once, through crashes, waits and changes of mind."""

import time
from contextlib import suppress

import psycopg
import pytest

from catalog.elements import FOREIGN_KEY, REFERENCED
from catalog.models import StoryEvent, Table
from catalog.selectors import newest_descriptor
from catalog.story import sentence
from changes import selectors, services, streams
from changes.driver import driver, schema_change_lease
from changes.executor.state import whom
from changes.models import Change, Claim, SchemaChangeLease, Status, Step
from changes.pages import change_page
from changes.tasks import find_stuck
from spark_tasks.models import ReorgRun
from tests.changes.driven import Crash, Walk, dies_at, drive, kinds, let_the_dead_lease_expire, made

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
AIRPORTS = "CREATE TABLE airports (code text PRIMARY KEY, city text)"
TRIPS = "CREATE TABLE trips (id bigint PRIMARY KEY, code text)"
ADD = "ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports"
DROP = "ALTER TABLE trips DROP CONSTRAINT trips_code_fkey"


@pytest.fixture(
    params=[
        pytest.param((AIRPORTS, TRIPS), id="the parent first"),
        pytest.param((TRIPS, AIRPORTS), id="the child first", marks=pytest.mark.soak),
    ]
)
def tables(request: pytest.FixtureRequest) -> tuple[int, int]:
    """trips and airports; either may have the lower id, and is then locked first. The suite has the parent first; both
    orders of locks are in `test_lock_order`."""
    return in_order(*request.param)


@pytest.fixture
def two(db: None) -> tuple[int, int]:
    """trips and airports, in one order, where the order does not matter."""
    return in_order(AIRPORTS, TRIPS)


def in_order(*statements: str) -> tuple[int, int]:
    for statement in statements:
        made(statement)
    return table("trips"), table("airports")


def table(name: str) -> int:
    return Table.objects.get(name=name).pk


def versions(*table_ids: int) -> list[int]:
    return [newest_descriptor(table_id).version for table_id in table_ids]


def states(trips: int, airports: int) -> list[str]:
    """The foreign key's state in both tables; none where it is absent."""
    child, parent = newest_descriptor(trips), newest_descriptor(airports)
    mine = [one.state.value for one in child.constraints if one.rule == FOREIGN_KEY]
    theirs = [one.state.value for one in parent.constraints if one.rule == REFERENCED]
    return mine + theirs


def told(stream: str, *wanted: str) -> list[tuple[str, str, int]]:
    found = StoryEvent.objects.filter(stream=stream, kind__in=wanted).order_by("seq")
    return [(event.kind, event.payload["table"], event.payload["version"]) for event in found]


# --- one publish


def test_l11_a_foreign_key_is_public_in_both_tables(tables: tuple[int, int]) -> None:
    change = made(ADD)
    assert change.table_ids == sorted(tables)
    assert states(*tables) == ["public", "public"]
    assert versions(*tables) == [4, 4]


def test_l11_and_it_goes_from_both(tables: tuple[int, int]) -> None:
    made(ADD)
    made(DROP)
    assert states(*tables) == []
    assert versions(*tables) == [6, 6]


def test_l11_a_table_that_refers_to_itself_moves_alone(db: None) -> None:
    made("CREATE TABLE staff (id bigint PRIMARY KEY, boss bigint)")
    change = made("ALTER TABLE staff ADD FOREIGN KEY (boss) REFERENCES staff")
    assert change.table_ids == [change.table_id]
    assert states(change.table_id, change.table_id) == ["public", "public"]
    made("ALTER TABLE staff DROP CONSTRAINT staff_boss_fkey")
    assert states(change.table_id, change.table_id) == []


def test_l11_a_table_that_goes_takes_its_foreign_key_out_of_the_other(two: tuple[int, int]) -> None:
    trips, airports = two
    made(ADD)
    change = made("DROP TABLE trips")
    assert change.table_ids == sorted(two)
    assert states(trips, airports) == []
    assert list(Table.objects.order_by("name").values_list("name", "state")) == [
        ("airports", "live"),
        ("trips", "dropped"),
    ]


def test_x7_each_table_reports_its_own_versions_and_all_else_is_reported_to_both(two: tuple[int, int]) -> None:
    trips, airports = two
    change = made(ADD)
    wanted = ("version published", "version drained")
    for table_id, name in ((trips, "trips"), (airports, "airports")):
        mine = [one for one in told(f"table:{table_id}", *wanted) if one[2] > 2]
        assert mine == [(kind, name, version) for version in (3, 4) for kind in wanted]
        heard = StoryEvent.objects.filter(stream=f"table:{table_id}", payload__change=change.pk)
        assert {"change submitted", "change started", "change done"} <= set(heard.values_list("kind", flat=True))
    both = told(f"change:{change.pk}", "version published")
    assert both == [("version published", name, version) for version in (3, 4) for name in ("trips", "airports")]
    published = StoryEvent.objects.filter(stream=f"table:{airports}", kind="version published", payload__version=3)
    assert "trips_code_fkey absent -> write-only" in published.get().payload["what"]


def test_r10_the_run_that_verifies_knows_both_sides(two: tuple[int, int]) -> None:
    _, airports = two
    change = made(ADD)
    [run] = ReorgRun.objects.filter(change_id=change.pk, kind="verify")
    [element] = run.elements
    assert element["partner"] == [airports, 1]


@pytest.mark.parametrize("statement", [pytest.param(ADD, id="add"), pytest.param(DROP, id="drop")])
def test_x2_a_worker_may_die_anywhere_and_never_leaves_half_of_a_version(
    tables: tuple[int, int], statement: str
) -> None:
    """Both tables have come as far at every moment that anybody could look."""
    if statement == DROP:
        made(ADD)
    trips, airports = tables
    change = services.submit(statement, who="ann")
    lives = 0
    while Change.objects.get(pk=change.pk).is_open:
        lives += 1
        with suppress(Crash):
            drive(change, holder=f"w{lives}", hook=dies_at(lives))
        assert versions(trips) == versions(airports)
        assert len(set(states(trips, airports))) <= 1
        let_the_dead_lease_expire()
    assert lives > 3
    published = StoryEvent.objects.filter(stream=f"change:{change.pk}", kind="version published")
    assert published.count() == 4
    assert kinds(change).count("change done") == 1


def test_l11_a_table_that_somebody_else_moved_stops_the_change_and_moves_neither(two: tuple[int, int]) -> None:
    trips, airports = two
    change = services.submit(ADD, who="ann")
    moved = newest_descriptor(airports).next_version()

    def hook(name: str) -> None:
        if name == "before TryPublish":
            Table.objects.filter(pk=airports).update(version=moved.version)

    assert drive(change, hook=hook) == Status.PAUSED
    said = Change.objects.get(pk=change.pk).error["message"]
    assert said == "cannot publish airports@3: the table is at version 3"
    assert versions(trips) == [2]


# --- waits


def lease(cluster, table_id: int, version: int, node: str = "n1") -> int:
    """A lease on a version, which may be an older one."""
    incarnation = cluster.node(node)
    cluster.admin.execute(
        "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
        " VALUES (%s, %s, %s, %s, clock_timestamp() + interval '1 min')",
        (table_id, version, node, incarnation),
    )
    return incarnation


def test_l11_a_lease_on_an_old_version_of_the_other_table_holds_the_publish_back_and_is_named(
    cluster, two: tuple[int, int]
) -> None:
    trips, airports = two
    change = services.submit(ADD, who="ann")
    n1 = lease(cluster, airports, 1)
    walk = Walk(change)
    assert versions(trips, airports) == [2, 2]
    waiting = StoryEvent.objects.get(stream=f"table:{airports}", kind="version waiting")
    assert waiting.payload["whom"] == "n1 on airports"
    assert StoryEvent.objects.filter(stream=f"table:{trips}", kind="version waiting").exists()
    moving = Change.objects.get(pk=change.pk)
    [blocker] = selectors.blockers(moving, selectors.execution_of(moving))
    assert (blocker["node"], blocker["table"], blocker["version"]) == ("n1", "airports", 1)
    cluster.release("n1", n1, 1, table_id=airports)
    assert walk.end() == Status.DONE
    assert Step.objects.get(change=change, number=0).waited_for == ["n1 on airports"]
    first = StoryEvent.objects.filter(stream=f"table:{airports}", kind="version published", payload__version=3).get()
    assert first.payload["waited"].endswith("s for n1 on airports")


def test_l11_the_drain_waits_for_both_tables_and_wakes_for_either(cluster, two: tuple[int, int]) -> None:
    trips, airports = two
    change = services.submit(ADD, who="ann")
    n1, n2 = lease(cluster, airports, 2, "n1"), lease(cluster, trips, 2, "n2")
    walk = Walk(change)
    assert Step.objects.filter(change=change, kind="drain").exists()
    whom = StoryEvent.objects.get(stream=f"change:{change.pk}", kind="version waiting").payload["whom"]
    assert whom == "n1 on airports; n2 on trips"
    cluster.release("n1", n1, 2, table_id=airports)
    cluster.release("n2", n2, 2, table_id=trips)
    assert walk.end() == Status.DONE
    assert cluster.fence(trips) == cluster.fence(airports) == 4


def test_l8_a_transaction_on_the_other_table_that_outlives_its_lease_is_ended_after_the_grace(
    cluster, two: tuple[int, int]
) -> None:
    """Also while a lease on the change's own table is in the way: the grace is each table's own."""
    trips, airports = two
    change = services.submit(ADD, who="ann")
    frozen = cluster.begin_on(airports, 2, "schemalab node n3 1")
    n1 = lease(cluster, trips, 2)
    walk = Walk(change)
    until(lambda: StoryEvent.objects.filter(stream=f"table:{airports}", kind="sessions ended").exists())
    ended = StoryEvent.objects.get(stream=f"table:{airports}", kind="sessions ended")
    assert (ended.payload["whom"], ended.payload["table"], ended.payload["version"]) == ("n3", "airports", 2)
    with pytest.raises(psycopg.OperationalError):
        frozen.execute("COMMIT")
    cluster.release("n1", n1, 2, table_id=trips)
    assert walk.end() == Status.DONE


def until(holds) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


# --- X4: the rollback


def test_x4_a_cancelled_change_walks_both_tables_back_to_where_they_were(cluster, tables: tuple[int, int]) -> None:
    before = [newest_descriptor(table_id) for table_id in tables]
    trips, airports = tables
    change = services.submit(ADD, who="ann")
    n1 = lease(cluster, airports, 2)
    walk = Walk(change)
    assert states(trips, airports) == ["write-only", "write-only"]
    services.cancel(change.pk, who="bob")
    walk.until(Status.ROLLING_BACK)
    cluster.release("n1", n1, 2, table_id=airports)
    assert walk.end() == Status.CANCELLED
    after = [newest_descriptor(table_id) for table_id in tables]
    assert [one.constraints for one in after] == [one.constraints for one in before] == [(), ()]
    assert [one.version for one in after] == [4, 4]
    assert not Claim.objects.exists()


# --- X1: turns


def test_x1_two_changes_that_share_a_table_queue_and_a_third_runs_beside_them(cluster, two: tuple[int, int]) -> None:
    trips, airports = two
    made("CREATE TABLE runs (id bigint PRIMARY KEY, city text)")
    first = services.submit(ADD, who="ann")
    second = services.submit("CREATE INDEX by_city ON airports (city)", who="bob")
    third = services.submit("CREATE INDEX of_runs ON runs (city)", who="eve")
    assert [selectors.behind(change) for change in (first, second, third)] == [[], [first.pk], []]
    n1 = lease(cluster, trips, 2)
    walk = Walk(first)
    assert drive(second, holder="w2") is None
    assert drive(third, holder="w3") == Status.DONE
    cluster.release("n1", n1, 2, table_id=trips)
    assert walk.end() == Status.DONE
    assert drive(second, holder="w2") == Status.DONE
    assert newest_descriptor(airports).index_named("by_city").state.value == "public"


def test_x1_after_an_end_every_change_that_may_begin_is_sent_a_driver(
    two: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = services.submit(ADD, who="ann")
    others = [services.submit(f"CREATE INDEX i{t} ON {t} (code)", who="bob") for t in ("trips", "airports")]
    services.submit("CREATE INDEX third ON trips (code, id)", who="eve")
    sent: list[int] = []
    monkeypatch.setattr(driver, "send_driver", sent.append)
    assert drive(first) == Status.DONE
    assert sent == [other.pk for other in others]


def test_x1_a_change_that_never_began_lets_its_followers_go(
    two: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = services.submit(ADD, who="ann")
    others = [services.submit(f"CREATE INDEX i{t} ON {t} (code)", who="bob") for t in ("trips", "airports")]
    sent: list[int] = []
    monkeypatch.setattr(services, "send_driver", sent.append)
    services.cancel(first.pk, who="ann")
    assert sent == [other.pk for other in others]


def test_x3_the_beat_sends_for_a_change_only_while_nobody_moves_any_of_its_tables(
    cluster, two: tuple[int, int], redis_url: str
) -> None:
    _, airports = two
    change = services.submit(ADD, who="ann")
    assert find_stuck() == [change.pk]
    other = schema_change_lease.acquire([airports], "other")
    assert find_stuck() == []
    schema_change_lease.release(other)
    assert find_stuck() == [change.pk]


# --- X2: the schema-change leases


def test_x2_the_leases_of_all_tables_are_taken_or_none(cluster, two: tuple[int, int]) -> None:
    trips, airports = two
    other = schema_change_lease.acquire([airports], "other")
    with pytest.raises(schema_change_lease.LeaseTaken, match=f"table {airports} is moved by other"):
        schema_change_lease.acquire([trips, airports], "mine")
    assert SchemaChangeLease.objects.filter(holder="mine").count() == 0
    schema_change_lease.release(other)
    mine = schema_change_lease.acquire([trips, airports], "mine")
    assert mine.table_ids == sorted(two)
    with cluster.admin.transaction(), cluster.admin.cursor() as cur:
        schema_change_lease.check(cur, mine)


def test_x2_whoever_lost_one_table_has_lost_them_all(cluster, two: tuple[int, int]) -> None:
    trips, airports = two
    mine = schema_change_lease.acquire([trips, airports], "mine")
    SchemaChangeLease.objects.filter(table_id=airports).update(expires_at="2000-01-01T00:00:00Z")
    schema_change_lease.acquire([airports], "other")
    with pytest.raises(schema_change_lease.LeaseLost, match=f"table {airports} was taken over from mine"):
        schema_change_lease.renew(mine)
    with pytest.raises(schema_change_lease.LeaseLost), cluster.admin.transaction(), cluster.admin.cursor() as cur:
        schema_change_lease.check(cur, mine)


@pytest.mark.parametrize(
    "at",
    [
        "before TryPublish",
        pytest.param("before TryDrain", marks=pytest.mark.soak),
        pytest.param("before StartRun", marks=pytest.mark.soak),
        "before CloseRun",
    ],
)
def test_x2_a_driver_that_was_replaced_moves_neither_table(two: tuple[int, int], at: str) -> None:
    """The first one sleeps; the second takes over both tables and finishes. The steps between are in the soak."""
    change = services.submit(ADD, who="ann")
    outcome: list[object] = []

    def hook(name: str) -> None:
        if name == at and not outcome:
            let_the_dead_lease_expire()
            outcome.extend([drive(change, holder="w2"), versions(*two), ReorgRun.objects.count()])

    assert drive(change, holder="w1", hook=hook) is None
    assert outcome == [Status.DONE, [4, 4], 1]
    assert (versions(*two), ReorgRun.objects.count()) == ([4, 4], 1)
    assert set(SchemaChangeLease.objects.filter(table_id__in=two).values_list("holder", flat=True)) == {""}


# --- planned again at the start


def test_a_change_whose_other_table_moved_meanwhile_is_planned_again(two: tuple[int, int]) -> None:
    _, airports = two
    ahead = services.submit("ALTER TABLE airports ADD nick text", who="ann")
    change = services.submit(ADD, who="bob")
    services.cancel(ahead.pk, who="ann")
    assert drive(change) == Status.DONE
    assert [column.name for column in newest_descriptor(airports).columns] == ["code", "city"]
    assert states(*two) == ["public", "public"]


def test_a_table_that_was_to_be_renamed_and_was_not_is_found_all_the_same(two: tuple[int, int]) -> None:
    ahead = services.submit("ALTER TABLE airports RENAME TO fields", who="ann")
    change = services.submit("ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES fields", who="bob")
    services.cancel(ahead.pk, who="ann")
    assert drive(change) == Status.DONE
    assert states(*two) == ["public", "public"]


def test_l11_a_change_that_comes_to_span_another_table_waits_for_it_too(cluster, two: tuple[int, int]) -> None:
    """The foreign key was to be gone before; it is not, and its column takes it along."""
    trips, airports = two
    made(ADD)
    ahead = services.submit(DROP, who="ann")
    change = services.submit("ALTER TABLE trips DROP code", who="bob")
    beside = services.submit("CREATE INDEX by_city ON airports (city)", who="eve")
    assert change.table_ids == [trips]
    services.cancel(ahead.pk, who="ann")
    n1 = lease(cluster, airports, 4)
    walk = Walk(beside)
    assert drive(change) is None
    change.refresh_from_db()
    assert (change.status, change.table_ids) == (Status.QUEUED, sorted(two))
    assert selectors.behind(change) == [beside.pk]
    assert drive(change) is None
    for stream in ("cluster", f"change:{change.pk}", f"table:{trips}", f"table:{airports}"):
        [now] = queued_behind(stream, change, beside)
        assert now.payload["table"] == "airports"
    cluster.release("n1", n1, 4, table_id=airports)
    assert walk.end() == Status.DONE
    assert drive(change) == Status.DONE
    assert states(trips, airports) == []
    assert [column.name for column in newest_descriptor(trips).columns] == ["id"]


def queued_behind(stream: str, change: Change, other: Change) -> list[StoryEvent]:
    of = {"payload__change": change.pk, "payload__behind": other.pk}
    return list(StoryEvent.objects.filter(stream=stream, kind="change queued", **of))


def test_x7_a_change_that_comes_to_span_another_table_and_need_not_wait_says_nothing_of_it(
    two: tuple[int, int],
) -> None:
    _, airports = two
    made(ADD)
    ahead = services.submit(DROP, who="ann")
    change = services.submit("ALTER TABLE trips DROP code", who="bob")
    services.cancel(ahead.pk, who="ann")
    assert drive(change) == Status.DONE
    heard = StoryEvent.objects.filter(stream=f"table:{airports}", payload__change=change.pk)
    assert heard.order_by("seq").first().kind == "change started"


# --- what is shown


def test_a_change_is_shown_by_each_of_its_tables(cluster, two: tuple[int, int]) -> None:
    _, airports = two
    change = services.submit(ADD, who="ann")
    n1 = lease(cluster, airports, 1)
    walk = Walk(change)
    for table_id in two:
        [shown] = streams.summaries(table_id)
        assert (shown["id"], [one["table"] for one in shown["partners"]]) == (change.pk, ["airports"])
    assert (shown["wait"]["newest"], shown["tables"]) == ("trips v2 · airports v2", "trips → airports")
    assert [holder["shown"] for holder in shown["wait"]["holders"]] == ["airports v1"]
    snapshot = selectors.change_snapshot(change.pk)
    assert snapshot["step"]["partners"] == [{"table": "airports", "table_id": airports, "version": 3}]
    assert snapshot["table_ids"] == sorted(two)
    assert change_page.view(snapshot, [])["partners"][0]["version"] == 2
    cluster.release("n1", n1, 1, table_id=airports)
    assert walk.end() == Status.DONE
    for table_id in two:
        assert change.pk in [line["id"] for line in streams.ended(20, table_ids__contains=[table_id])]
    assert "DROP CONSTRAINT" in selectors.change_snapshot(change.pk)["undo"]["statement"]


def test_a_preview_says_behind_whom_on_any_of_the_tables(two: tuple[int, int]) -> None:
    queued = services.submit("CREATE INDEX by_city ON airports (city)", who="ann")
    seen = services.preview(ADD)
    assert [change["id"] for change in seen["behind"]] == [queued.pk]
    assert seen["table_ids"] == sorted(two)


def test_the_undo_calls_the_other_table_by_the_name_it_has_today(two: tuple[int, int]) -> None:
    made(ADD)
    dropped = made(DROP)
    made("ALTER TABLE airports RENAME TO places")
    undo = selectors.change_snapshot(dropped.pk)["undo"]["statement"]
    assert 'REFERENCES "places" ("code")' in undo
    services.preview(undo)


def test_who_waits_behind_whom_names_the_table_that_both_move(two: tuple[int, int]) -> None:
    first = services.submit("CREATE INDEX by_city ON airports (city)", who="ann")
    second = services.submit(ADD, who="bob")
    third = services.submit(DROP, who="bob")
    told = StoryEvent.objects.filter(stream="cluster", kind="change queued").order_by("seq")
    assert [sentence(one.kind, one.payload) for one in told] == [
        f"Change {second.pk} waits behind change {first.pk}: both move airports.",
        f"Change {third.pk} waits behind change {second.pk}: both move "
        + " and ".join("airports" if table_id == two[1] else "trips" for table_id in sorted(two))
        + ".",
    ]


@pytest.mark.parametrize(
    ("waited_for", "words"),
    [
        pytest.param(["n1", "n2"], "n1, n2", id="one table"),
        pytest.param(["n1 on trips"], "n1 on trips", id="one node"),
        pytest.param(
            ["n1 on airports", "n1 on trips", "n2 on airports", "n2 on trips", "n3 on trips"],
            "n1, n2 on airports and trips; n3 on trips",
            id="nodes that use the same",
        ),
        pytest.param([], "", id="nobody"),
    ],
)
def test_nodes_are_named_by_what_they_use(waited_for: list[str], words: str) -> None:
    assert whom(waited_for) == words


def test_a_node_that_holds_both_tables_is_reported_once() -> None:
    step = {"kind": "drain", "table": "trips", "version": 3, "partners": [{"table": "airports", "version": 5}]}
    until = "2026-11-22T01:20:53+00:00"
    blockers = [
        {"node": node, "table": table, "version": version, "until": until, "is_down": False}
        | {"sessions": [{"session": 17}]}
        for node, table, version in (("n2", "airports", 4), ("n2", "trips", 2), ("n3", "airports", 4))
    ]
    snapshot = {"blockers": blockers, "status": "waiting", "table_ids": [1, 2], "step": step, "partners": [{}]}
    leases = [{"node": node, "version": 3, "table_id": 1} for node in ("n1", "n2", "n3", "n4")]
    shown = change_page.wait(snapshot, leases)
    assert (shown["newest"], shown["there"], shown["nodes"]) == ("trips v3 · airports v5", 2, 4)
    assert [len(one["sessions"]) for one in shown["holders"]] == [1, 1], "each once, though it uses two tables"
    assert [(one["node"], one["shown"], one["until"]) for one in shown["holders"]] == [
        ("n2", "airports v4 · trips v2", until),
        ("n3", "airports v4", until),
    ]
