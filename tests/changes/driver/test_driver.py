"""Changes driven from submission to their end, through crashes, waits and changes of mind."""

import threading
import time
from datetime import timedelta

import psycopg
import pytest
from django.db import connection

from catalog.models import StoryEvent, Table
from catalog.selectors import newest_descriptor
from catalog.services import control_transaction
from catalog.story import sentence
from catalog.values.types import SqlType
from changes import notices, selectors, services
from changes.ddl.errors import DdlError
from changes.driver import driver, publish
from changes.models import Change, Status, Step
from changes.records import windows
from changes.services import ChangeError, NoSuchChange, TooLate
from changes.tasks import find_stuck
from leases.models import Lease, PastLease
from leases.staircase import picture as over_time
from storage.encoding import decode
from tests.changes.driven import USERS, Crash, Walk, dies_at, drive, kinds, let_the_dead_lease_expire, made
from tests.rounds import every

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]


def test_a_table_walks_its_ladder_and_is_public():
    change = made()
    table = newest_descriptor(change.table_id)
    assert (table.name, table.version, table.state.value) == ("users", 2, "public")
    assert Table.objects.get(pk=change.table_id).state == "live"
    assert kinds(change) == [
        "change submitted",
        "change started",
        "version published",
        "version drained",
        "version published",
        "version drained",
        "change done",
        "table created",
    ]


def test_where_only_the_newest_is_accepted_a_publish_shuts_out_its_predecessor_before_the_drain():
    table_id = made(USERS + " WITH (coordination = 'both')").table_id
    change = services.submit("DROP TABLE users", who="ann")
    seen: list[tuple[str, int, int]] = []

    def hook(name: str) -> None:
        with connection.cursor() as cur:
            fence = f"pg_sequence_last_value('storage_1.fence_{table_id}')"
            cur.execute(f"SELECT version, {fence} FROM catalog_table WHERE id = %s", [table_id])
            row = cur.fetchone()
        if row is not None and row[1] is not None:
            seen.append((name, *row))

    assert drive(change, hook=hook) == Status.DONE
    published = [place for place, (name, _, _) in enumerate(seen[:-1]) if name == "committed TryPublish"]
    assert published
    for place in published:
        _, version, fence = seen[place]
        assert fence == version - 1, "as it was while the publish committed"
        assert seen[place + 1][2] == version, "and moved before anything else was done"


def test_x7_each_step_keeps_when_it_ran():
    change = made()
    steps = Step.objects.filter(change=change)
    assert [(step.kind, step.version) for step in steps] == [("publish", 1), ("drain", 1), ("publish", 2), ("drain", 2)]
    assert all(step.ended_at for step in steps)


def test_an_index_walks_its_ladder_and_is_public():
    made()
    change = made("CREATE INDEX by_age ON users (age)")
    table = newest_descriptor(change.table_id)
    assert table.index_named("by_age").state.value == "public"
    assert not table.index_named("by_age").filling


def test_l12_a_dropped_table_frees_its_name_when_the_change_is_complete():
    first = made()
    change = services.submit("DROP TABLE users", who="ann")
    with pytest.raises(DdlError, match="already exists") as caught:
        services.submit(USERS, who="bob")
    assert caught.value.hint == f"It is given up by change {change.pk}; the name is free when that is done."
    assert drive(change) == Status.DONE
    assert Table.objects.get(pk=first.table_id).state == "dropped"
    again = made()
    assert again.table_id != first.table_id


def test_l12_a_table_gives_up_its_old_name_when_its_rename_is_complete():
    first = made()
    change = services.submit("ALTER TABLE users RENAME TO people", who="ann")
    for name, why in (
        ("users", f"It is given up by change {change.pk}; the name is free when that is done."),
        ("people", None),
    ):
        with pytest.raises(DdlError, match="already exists") as caught:
            services.submit(f"CREATE TABLE {name} (id int PRIMARY KEY)", who="bob")
        assert caught.value.hint == why
    assert drive(change) == Status.DONE
    assert Table.objects.get(pk=first.table_id).name == "people"
    assert newest_descriptor(first.table_id).name == "people"
    assert made().table_id != first.table_id


def test_a_change_behind_another_is_planned_again_with_the_names_and_values_it_was_given():
    table = made().table_id
    ahead = services.submit("ALTER TABLE users ADD nick text", who="ann")
    behind = services.submit("ALTER TABLE users ADD seen timestamp DEFAULT now(), ADD UNIQUE (age)", who="bob")
    services.cancel(ahead.pk, who="ann")
    assert drive(behind) == Status.DONE
    made_of = newest_descriptor(table)
    assert [column.name for column in made_of.columns][-1] == "seen"
    assert made_of.index_named("users_age_key").unique
    behind.refresh_from_db()
    at = decode(SqlType.TIMESTAMP, made_of.column_named("seen").fill_value)[0]
    assert abs(at - behind.created_at.replace(tzinfo=None)) < timedelta(seconds=1)


def test_x5_a_bad_statement_stores_nothing():
    with pytest.raises(DdlError):
        services.submit("CREATE TABLE t (id inet PRIMARY KEY)", who="ann")
    with pytest.raises(DdlError):
        services.submit("DROP TABLE nobody", who="ann")
    assert not Change.objects.exists()
    assert not Table.objects.exists()
    assert not StoryEvent.objects.exists()


def test_x1_changes_of_one_table_queue_in_order():
    made()
    first = services.submit("CREATE INDEX a ON users (age)", who="ann")
    second = services.submit("CREATE INDEX b ON users (age)", who="bob")
    assert "change queued" in kinds(second)
    assert drive(second) is None
    assert Change.objects.get(pk=second.pk).status == Status.QUEUED
    assert drive(first) == Status.DONE
    assert drive(second) == Status.DONE
    assert [index.name for index in newest_descriptor(first.table_id).public_indexes] == ["a", "b"]


def test_x1_changes_of_two_tables_run_side_by_side(cluster):
    made("CREATE TABLE one (id int PRIMARY KEY, a int)")
    made("CREATE TABLE two (id int PRIMARY KEY, a int)")
    held = services.submit("CREATE INDEX x ON one (a)", who="ann")
    free = services.submit("CREATE INDEX y ON two (a)", who="ann")
    n1 = cluster.node("n1")
    cluster.admin.execute("SELECT lease_acquire(%s, 'n1', %s, 60)", (held.table_id, n1))
    walk = Walk(held)
    assert drive(free, holder="w2") == Status.DONE
    assert Change.objects.get(pk=held.pk).status == Status.WAITING
    cluster.admin.execute("SELECT lease_release(%s, 2, 'n1', %s)", (held.table_id, n1))
    assert walk.end() == Status.DONE


def lease(cluster, change: Change, version: int = 2, node: str = "n1") -> int:
    incarnation = cluster.node(node)
    got = cluster.admin.execute(
        "SELECT version FROM lease_acquire(%s, %s, %s, 60)", (change.table_id, node, incarnation)
    ).fetchone()[0]
    assert got == version
    return incarnation


def release(cluster, change: Change, incarnation: int, version: int = 2, node: str = "n1") -> None:
    cluster.admin.execute("SELECT lease_release(%s, %s, %s, %s)", (change.table_id, version, node, incarnation))


def test_a_wait_says_for_whom_and_the_release_itself_ends_it(cluster, monkeypatch):
    """Nobody looks again by the clock: without news of the release the driver would wait for the end of the lease."""
    monkeypatch.setattr("changes.driver.versions.LOOK_AGAIN_S", 1000.0)
    made()
    change = services.submit("CREATE INDEX a ON users (age)", who="ann")
    n1 = lease(cluster, change)
    walk = Walk(change)
    waiting = StoryEvent.objects.get(stream=f"change:{change.pk}", kind="version waiting")
    assert waiting.payload["whom"] == "n1"
    ends_at = Lease.objects.get(node="n1").expires_at
    release(cluster, change, n1)
    assert walk.end() == Status.DONE
    drained = Step.objects.get(change=change, number=1)
    assert drained.waited_for == ["n1"]
    assert drained.waited_s > 0
    assert drained.ended_at < ends_at


def test_a_node_is_not_said_to_be_waited_for_once_its_lease_has_ended(cluster, monkeypatch):
    """The drain that found nobody took its time: that was the database's, and the lanes say so too."""
    made()
    change = services.submit("CREATE INDEX a ON users (age)", who="ann")
    n1 = lease(cluster, change)
    attempt = publish.drain

    def slowly(*given, **named):
        blocked = attempt(*given, **named)
        if blocked is None:
            time.sleep(1.2)
        return blocked

    monkeypatch.setattr(publish, "drain", slowly)
    walk = Walk(change)
    release(cluster, change, n1)
    assert walk.end() == Status.DONE
    drained = Step.objects.get(change=change, number=1)
    left_at = PastLease.objects.get(table_id=change.table_id, node="n1").ended_at
    assert drained.waited_for == ["n1"]
    assert drained.waited_s == pytest.approx((left_at - drained.started_at).total_seconds(), abs=0.01)
    assert (drained.ended_at - drained.started_at).total_seconds() > drained.waited_s + 1
    picture = over_time.picture(windows.fresh(Change.objects.get(pk=change.pk)))
    assert picture["tables"][0]["summary"]["wait"]["seconds"] == pytest.approx(drained.waited_s, abs=0.1)


def test_l8_a_transaction_that_outlives_its_lease_is_ended_after_the_grace(cluster):
    made()
    change = services.submit("CREATE INDEX a ON users (age)", who="ann")
    frozen = cluster.begin_on(change.table_id, 2, "schemalab node n3 1")
    began = time.monotonic()
    assert drive(change) == Status.DONE
    assert 0.9 < time.monotonic() - began < 20
    ended = StoryEvent.objects.get(stream=f"change:{change.pk}", kind="sessions ended")
    assert (ended.payload["whom"], ended.payload["version"]) == ("n3", 2)
    with pytest.raises(psycopg.OperationalError):
        frozen.execute("COMMIT")


# --- X2, X3: crashes


@pytest.mark.parametrize(
    ("before", "statement"),
    [
        pytest.param("", USERS, id="create table", marks=pytest.mark.soak),
        pytest.param(USERS, "CREATE INDEX a ON users (age)", id="create index"),
        pytest.param(
            USERS + "; CREATE INDEX a ON users (age)", "DROP INDEX a", id="drop index", marks=pytest.mark.soak
        ),
        pytest.param(USERS, "DROP TABLE users", id="drop table"),
        pytest.param(
            USERS + " WITH (coordination = 'both')",
            "DROP TABLE users",
            id="coordinated by both",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_x2_a_worker_may_die_before_or_after_any_effect(before, statement):
    """One change, and a worker that dies at the first hook, the next at the second, and so on to the end. These two
    have all steps that the others have; the others are in the soak."""
    for each in filter(None, before.split("; ")):
        made(each)
    change = services.submit(statement, who="ann")
    survived = 0
    for life in range(100):
        hook = dies_at(survived)
        try:
            status = drive(change, holder=f"w{life}", hook=hook)
        except Crash:
            let_the_dead_lease_expire()
            survived += 1
            continue
        assert status == Status.DONE
        break
    assert survived > 3
    told = kinds(change)
    plan = Change.objects.get(pk=change.pk).plan
    publishes = sum(step["kind"] == "publish" for step in plan["forward"])
    drains = sum(step["kind"] == "drain" for step in plan["forward"])
    assert told.count("version published") == publishes
    assert told.count("version drained") == drains
    assert told.count("change done") == 1
    assert told.count("executor replaced") > 0
    tries = Step.objects.filter(change=change).values_list("tries", flat=True)
    assert sum(tries) - len(tries) == told.count("executor replaced")


def test_x2_a_second_worker_is_told_to_go_while_the_first_lives(cluster):
    made()
    change = services.submit("CREATE INDEX a ON users (age)", who="ann")
    n1 = lease(cluster, change)
    walk = Walk(change)
    assert drive(change, holder="w2") is None
    release(cluster, change, n1)
    assert walk.end() == Status.DONE


def test_x2_a_worker_that_was_replaced_changes_nothing_more(cluster):
    """The first one sleeps right before its publish; the second takes over and finishes."""
    change = services.submit(USERS, who="ann")
    outcome = []

    def hook(name: str) -> None:
        if not outcome:
            let_the_dead_lease_expire()
            outcome.append(drive(change, holder="w2"))

    assert drive(change, holder="w1", hook=hook) is None
    assert outcome == [Status.DONE]
    assert newest_descriptor(change.table_id).version == 2


def test_x3_the_beat_finds_what_nobody_drives(redis_url):
    change = services.submit(USERS, who="ann")
    assert find_stuck() == [change.pk]
    with pytest.raises(Crash):
        drive(change, hook=dies_at(1))
    assert find_stuck() == []
    let_the_dead_lease_expire()
    assert find_stuck() == [change.pk]
    assert drive(change, holder="w2") == Status.DONE
    assert find_stuck() == []


def test_x3_a_submission_without_a_broker_is_stored_all_the_same(settings, monkeypatch):
    from kombu.exceptions import OperationalError

    from schemalab.celery import app

    def broken(*_: object, **__: object) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(app, "send_task", broken)
    assert services.submit(USERS, who="ann").status == Status.QUEUED


# --- X4, X6: cancel, pause, resume


def test_x4_a_cancelled_change_rolls_back_to_the_table_as_it_was(cluster):
    made()
    change = services.submit("CREATE INDEX a ON users (age)", who="ann")
    before = newest_descriptor(change.table_id)
    n1 = lease(cluster, change)
    walk = Walk(change)
    services.cancel(change.pk, who="bob")
    walk.until(Status.ROLLING_BACK)
    release(cluster, change, n1)
    assert walk.end() == Status.CANCELLED
    after = newest_descriptor(change.table_id)
    assert (after.indexes, after.columns, after.state) == (before.indexes, before.columns, before.state)
    assert "change cancelling" in kinds(change)
    assert kinds(change)[-1] == "change cancelled"


def test_x4_a_change_that_never_began_leaves_nothing():
    change = services.submit(USERS, who="ann")
    services.cancel(change.pk, who="bob")
    assert Change.objects.get(pk=change.pk).status == Status.CANCELLED
    assert drive(change) is None
    made()


@every(5)
def test_x6_a_cancel_at_any_moment_wins_or_is_refused(every):
    """Before the first effect of one change, after it in the next one, and so on to the last step. The suite tries
    every fifth moment, the soak each."""
    made()
    for at in range(1, 40, every):
        change = services.submit(f"CREATE INDEX i{at} ON users (age)", who="ann")
        answers: list[str] = []

        def hook(_: str, at: int = at, change: Change = change, answers: list[str] = answers) -> None:
            answers.append("")
            if len(answers) == at:
                try:
                    services.cancel(change.pk, who="bob")
                except TooLate as refusal:
                    answers[-1] = str(refusal)

        status = drive(change, hook=hook)
        was_asked, was_refused = len(answers) >= at, any(answers)
        is_public = any(index.name == f"i{at}" for index in newest_descriptor(change.table_id).public_indexes)
        assert (status, is_public) == (
            (Status.CANCELLED, False) if was_asked and not was_refused else (Status.DONE, True)
        ), f"cancelled at hook {at}: {answers}"
        assert len(newest_descriptor(change.table_id).indexes) == len(newest_descriptor(change.table_id).public_indexes)
        if not was_asked:
            return
    raise AssertionError("the steps have no end")


def test_x6_past_the_point_of_no_return_a_cancel_is_refused_and_says_why(cluster):
    made()
    change = services.submit("DROP TABLE users", who="ann")
    refusals = []

    def hook(name: str) -> None:
        if name == "after StartRun":
            with pytest.raises(TooLate) as caught:
                services.cancel(change.pk, who="bob")
            refusals.append(str(caught.value))

    assert drive(change, hook=hook) == Status.DONE
    assert "the deletion of rows of users has begun" in refusals[0]


def test_x4_a_paused_change_rests_and_goes_on(cluster):
    made()
    change = services.submit("CREATE INDEX a ON users (age)", who="ann")
    n1 = lease(cluster, change)
    walk = Walk(change)
    services.pause(change.pk, who="bob")
    assert walk.end() == Status.PAUSED
    assert find_stuck() == []
    release(cluster, change, n1)
    assert drive(change) == Status.PAUSED
    services.resume(change.pk, who="bob")
    assert find_stuck() == [change.pk]
    assert drive(change) == Status.DONE
    assert [kind for kind in kinds(change) if kind in ("change pausing", "change resumed")] == [
        "change pausing",
        "change resumed",
    ]


def test_x4_a_paused_change_can_be_cancelled(cluster):
    made()
    change = services.submit("CREATE INDEX a ON users (age)", who="ann")
    n1 = lease(cluster, change)
    walk = Walk(change)
    services.pause(change.pk, who="bob")
    assert walk.end() == Status.PAUSED
    services.cancel(change.pk, who="bob")
    release(cluster, change, n1)
    assert drive(change) == Status.CANCELLED


def test_a_change_paused_in_the_queue_publishes_nothing_before_it_is_resumed():
    table = made().table_id
    change = services.submit("CREATE INDEX a ON users (age)", who="ann")
    services.pause(change.pk, who="bob")
    assert drive(change) == Status.PAUSED
    assert newest_descriptor(table).version == 2
    services.resume(change.pk, who="bob")
    assert drive(change) == Status.DONE


def test_what_has_ended_or_never_was_cannot_be_wished_about():
    change = made()
    with pytest.raises(TooLate, match="has ended: done"):
        services.cancel(change.pk, who="bob")
    with pytest.raises(NoSuchChange, match="there is no change 999"):
        services.pause(999, who="bob")
    waiting = services.submit("DROP TABLE users", who="ann")
    with pytest.raises(ChangeError, match="is not paused: it is queued"):
        services.resume(waiting.pk, who="bob")


def test_a_queued_change_whose_ground_has_gone_fails_with_the_error():
    made()
    first = services.submit("CREATE INDEX a ON users (age)", who="ann")
    second = services.submit("DROP INDEX a", who="bob")
    services.cancel(first.pk, who="ann")
    assert drive(second) == Status.FAILED
    assert Change.objects.get(pk=second.pk).error["sqlstate"] == "42704"
    assert find_stuck() == []


def test_a_failed_change_lets_the_next_one_go(redis_url):
    made()
    services.submit("DROP TABLE users", who="ann")
    with pytest.raises(DdlError, match="does not exist"):
        services.submit("CREATE INDEX a ON users (age)", who="ann")


# --- following, previewing


def test_following_a_change_reports_each_step_until_its_end():
    change = services.submit(USERS, who="ann")
    told = []
    follower = threading.Thread(target=lambda: told.extend(event["kind"] for event in notices.follow(change.pk)))
    follower.start()
    assert drive(change) == Status.DONE
    follower.join(timeout=10)
    assert told == kinds(change)


def test_a_preview_shows_the_steps_and_stores_nothing():
    made()
    queued = services.submit("CREATE INDEX a ON users (age)", who="ann")
    seen = services.preview("CREATE INDEX b ON users (age)")
    assert [step["transitions"][0]["after"] for step in seen["steps"] if step["kind"] == "publish"] == [
        "delete-only",
        "write-only",
        "public",
    ]
    assert [change["id"] for change in seen["behind"]] == [queued.pk]
    assert (seen["rows"], seen["rows_exact"]) == (0, True)
    assert Change.objects.count() == 2


def test_with_nobody_in_the_way_a_driver_never_sleeps(monkeypatch):
    """Each step follows the last at once; figures are in the benchmarks."""
    made()
    slept: list[float] = []
    monkeypatch.setattr(driver.Listener, "wait", lambda _self, _wanted, timeout_s: slept.append(timeout_s))
    made("CREATE INDEX a ON users (age)")
    assert slept == []


def test_x3_the_database_ends_the_drivers_sessions_and_the_change_goes_on(cluster):
    """As a restart does: once at every hook."""
    made()
    change = services.submit("CREATE INDEX a ON users (age)", who="ann")
    ended: list[str] = []

    def hook(name: str) -> None:
        if len(ended) < ENDED_MAX:
            ended.append(name)
            cluster.admin.execute(
                "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE application_name LIKE %s",
                (f"schemalab %of change {change.pk}",),
            )

    assert drive(change, hook=hook) == Status.DONE
    assert len(ended) == ENDED_MAX
    assert kinds(change).count("version published") == 3


ENDED_MAX = 4


def test_a_control_transaction_that_the_server_ends_at_its_limit_counts_as_a_lost_connection():
    """It comes as Django's InternalError (25P04), wherever the transaction was; the driver connects again (X2)."""
    for slow in (lambda cursor: cursor.execute("SELECT pg_sleep(1)"), lambda _: time.sleep(0.5)):
        with pytest.raises(driver.LOST, match="not over within 0.05 s: nothing of it was kept"):
            work_slowly(slow)
        connection.close()
    with control_transaction() as cursor:
        cursor.execute("SELECT 1")


def work_slowly(slow):
    with control_transaction(0.05) as cursor:
        slow(cursor)
        cursor.execute("SELECT 1")


def test_a_drop_that_waits_says_what_it_makes_needless_and_how_to_cancel_that():
    table = made().table_id
    first = services.submit("CREATE INDEX a ON users (age)", who="ann")
    second = services.submit("CREATE INDEX b ON users (age)", who="bob")
    drop = services.submit("DROP TABLE users", who="eve")
    assert selectors.change_snapshot(drop.pk)["needless"] == [first.pk, second.pk]
    told = StoryEvent.objects.get(stream=f"change:{drop.pk}", kind="changes needless")
    assert sentence(told.kind, told.payload) == (
        f"Change {drop.pk} drops users: change {first.pk} and change {second.pk} need not run before it,"
        " and may be cancelled."
    )
    services.cancel(first.pk, who="eve")
    services.cancel(second.pk, who="eve")
    assert drive(drop) == Status.DONE
    assert Table.objects.get(pk=table).state == "dropped"


def test_what_another_table_keeps_is_not_needless():
    made()
    made("CREATE TABLE pets (id bigint PRIMARY KEY, owner bigint)")
    services.submit("ALTER TABLE pets ADD FOREIGN KEY (owner) REFERENCES users", who="ann")
    drop = services.submit("DROP TABLE pets", who="eve")
    assert selectors.change_snapshot(drop.pk)["behind"]
    assert selectors.change_snapshot(drop.pk)["needless"] == []
