"""`manage.py plan` and `manage.py change`: what they print, and with which code they end."""

import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from changes import services
from changes.driver import driver
from changes.models import Change, Status
from changes.selectors import change_snapshot

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
USERS = "CREATE TABLE users (id bigint PRIMARY KEY, age integer)"


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def refused(*words: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as caught:
        run(*words)
    return caught.value.returncode, str(caught.value)


def made(statement: str = USERS) -> Change:
    change = services.submit(statement, who="ann")
    assert driver.drive(change.pk, holder="w") == Status.DONE
    return change


def test_a_plan_is_printed_as_steps_with_its_dangers():
    made()
    shown = run("plan", "CREATE INDEX by_age ON users (age)")
    assert "publish users@3: index by_age absent -> delete-only" in shown
    assert "(cancel is possible until here)" in shown
    assert "cancel is possible until step 8, once it is published: " in shown
    assert "under load up to" in shown
    assert "cost: Every row of users is read once" in shown
    assert not Change.objects.filter(status="queued").exists()


def test_a_plan_as_json_has_the_same_steps_as_the_pages(tmp_path):
    made()
    file = tmp_path / "add.sql"
    file.write_text("CREATE INDEX by_age ON users (age)")
    plan: dict[str, Any] = json.loads(run("plan", "--file", str(file), "--json"))
    assert plan["title"] == "index by_age"
    assert plan["moves"] == [{"kind": "index", "name": "by_age", "title": "index by_age", "direction": "add"}]
    assert plan["steps"][0]["transitions"][0]["after"] == "delete-only"


def test_a_statement_that_is_at_fault_ends_with_2_and_a_caret():
    code, message = refused("plan", "CREATE TABLE t (\n  id bigint PRIMARY KEY,\n  v inet)")
    assert code == 2
    assert message.splitlines() == [
        "type inet is not supported yet (SQLSTATE 0A000)",
        "LINE 3:   v inet)",
        "            ^",
        "HINT: Use text.",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("plan",), "give one statement, in quotes or with --file"),
        (("plan", "DROP TABLE t", "--file", "x.sql"), "give one statement, in quotes or with --file"),
        (("plan", "--file", "/nowhere/x.sql"), "cannot read /nowhere/x.sql"),
        (("change", "submit"), "give one statement, in quotes or with --file"),
        (("plan", "x"), 'syntax error at or near "x" (SQLSTATE 42601)'),
        (("change", "submit", "x"), 'syntax error at or near "x" (SQLSTATE 42601)'),
        (("plan", "DROP TABLE nothing"), 'table "nothing" does not exist (SQLSTATE 42P01)'),
        (("change", "show", "999"), "there is no change 999"),
        (("change", "cancel", "999"), "there is no change 999"),
        (("change", "wait", "999"), "there is no change 999"),
    ],
)
def test_bad_usage_ends_with_2_and_says_why(words, message):
    code, said = refused(*words)
    assert code == 2
    assert message in said


def test_submit_list_and_show():
    assert run("change", "submit", USERS).startswith("change ")
    change = Change.objects.get()
    assert USERS in run("change", "list")
    assert json.loads(run("change", "list", "--open", "--json"))[0]["id"] == change.pk
    driver.drive(change.pk, holder="w")
    shown = run("change", "show", str(change.pk))
    assert "forward  done  publish users@1: table users absent -> delete-only" in shown
    assert run("change", "list", "--open") == "no change is under way\n"


def test_waiting_prints_the_story_and_ends_with_0_when_done():
    change = made()
    shown = run("change", "wait", str(change.pk))
    assert shown.splitlines()[-2:] == [f"Change {change.pk} is done.", "users was created."]


def test_waiting_for_what_was_cancelled_ends_with_1():
    change = services.submit(USERS, who="ann")
    run("change", "cancel", str(change.pk))
    assert refused("change", "wait", str(change.pk)) == (1, f"change {change.pk} cancelled")


def test_of_a_change_that_turned_only_the_steps_it_took_are_shown():
    made()
    change = services.submit("CREATE INDEX by_age ON users (age)", who="ann")

    asked = iter(["once"])

    def hook(name: str) -> None:
        if name == "before TryDrain" and next(asked, None):
            services.cancel(change.pk, who="bob")

    assert driver.drive(change.pk, holder="w", hook=hook) == Status.CANCELLED
    shown = run("change", "show", str(change.pk)).splitlines()
    told = [line.split()[:3] for line in shown[2:]]
    assert told[:2] == [["forward", "done", "publish"], ["forward", "left", "wait"]]
    assert {(direction, mark) for direction, mark, _ in told[2:]} == {("back", "done")}


def test_waiting_too_short_ends_with_3():
    change = services.submit(USERS, who="ann")
    code, message = refused("change", "wait", str(change.pk), "--timeout", "0.05")
    assert (code, message) == (3, f"change {change.pk} has not ended after 0.05 s: it is queued")


def test_what_cannot_be_done_ends_with_1():
    change = made()
    assert refused("change", "cancel", str(change.pk)) == (1, f"change {change.pk} has ended: done")
    assert refused("change", "submit", "CREATE TABLE IF NOT EXISTS users (id int PRIMARY KEY)")[0] == 1
    assert refused("change", "submit", USERS)[0] == 1
    assert refused("plan", USERS)[0] == 1


def test_the_snapshot_of_a_finished_change_offers_its_undo():
    made()
    change = made("CREATE INDEX by_age ON users (age DESC)")
    seen = json.loads(run("change", "show", str(change.pk), "--json"))
    assert seen["undo"] == {"statement": 'DROP INDEX "by_age"', "warning": ""}
    assert seen["may_cancel"] is False
    assert [step["kind"] for step in seen["roads"]["forward"]][:2] == ["publish", "drain"]
    assert {run["kind"]: run["state"] for run in seen["runs"]}["fill"] == "done"
    dropped = made("DROP INDEX by_age")
    undo = json.loads(run("change", "show", str(dropped.pk), "--json"))["undo"]["statement"]
    assert undo == 'CREATE INDEX "by_age" ON "users" ("age" DESC)'
    made(undo)


def test_no_undo_is_offered_for_a_table_whose_name_another_has_and_none_twice():
    first = made("CREATE TABLE ua (id int PRIMARY KEY)")
    made("ALTER TABLE ua RENAME TO ub")
    made("CREATE TABLE ua (id int PRIMARY KEY)")
    shown = json.loads(run("change", "show", str(first.pk), "--json"))
    assert shown["undo"]["statement"] == 'DROP TABLE "ub"'
    made(shown["undo"]["statement"])
    shown = json.loads(run("change", "show", str(first.pk), "--json"))
    assert (shown["undo"], shown["no_undo"]) == (None, "No undo: table ua no longer exists.")
    assert "No undo: table ua no longer exists." in run("change", "show", str(first.pk))


def test_what_was_dropped_is_not_offered_again_once_it_is_back_under_any_name():
    made()
    dropped = made("ALTER TABLE users DROP age")
    back = made(json.loads(run("change", "show", str(dropped.pk), "--json"))["undo"]["statement"])
    made("ALTER TABLE users RENAME age TO years")
    assert change_snapshot(dropped.pk)["no_undo"] == f"No undo: change {back.pk} undoes it already."
    gone = made("DROP TABLE users")
    again = made(change_snapshot(gone.pk)["undo"]["statement"])
    made("ALTER TABLE users RENAME TO people")
    assert change_snapshot(gone.pk)["no_undo"] == f"No undo: change {again.pk} undoes it already."


def test_the_undo_of_a_dropped_table_restores_its_structure_and_says_so():
    made("CREATE TABLE \"q t\" (a int, b text DEFAULT 'it''s', n bigserial, c date NOT NULL, PRIMARY KEY (b, a))")
    change = made('DROP TABLE "q t"')
    undo = json.loads(run("change", "show", str(change.pk), "--json"))["undo"]
    assert undo["warning"] == "Only the structure comes back: the rows of q t are deleted."
    again = made(undo["statement"])
    assert again.table_name == "q t"
