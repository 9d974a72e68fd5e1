"""Limits against accidents: they hold whichever way a change or a question comes, and say when to try again."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils.timezone import now

from changes import proofs, services
from changes.ddl.errors import DdlError
from changes.ddl.resolve import NothingToDo
from changes.ddl.statements import parse
from changes.models import Change, Proof, Status
from changes.planning.planner import make_plan
from changes.submission.rate_limits import QUESTIONS_MAX, TooFast

pytestmark = pytest.mark.django_db(transaction=True)
USERS = "CREATE TABLE users (id bigint PRIMARY KEY)"


def submitted(who: str, *, seconds_ago: float = 20.0) -> None:
    """As many changes as one person may submit."""
    plan = {"statement": USERS, "table_id": 1, "table_ids": [1], "table_name": "users", "plan": {}}
    rows = (Change(**plan, who=who, status=Status.CANCELLED) for _ in range(settings.CHANGES_PER_MINUTE))
    Change.objects.bulk_create(rows)
    Change.objects.update(created_at=now() - timedelta(seconds=seconds_ago))


def test_rows_of_a_process_whose_clock_is_far_ahead_lock_nobody_out() -> None:
    submitted("ann", seconds_ago=-3600)
    assert services.submit(USERS, who="ann").status == Status.QUEUED


@pytest.fixture(autouse=True)
def nobody_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemalab.celery.app.send_task", lambda *_, **__: None)


def test_a_person_who_submits_too_fast_is_told_when_to_try_again() -> None:
    submitted("ann")
    with pytest.raises(TooFast, match="^you have submitted 100 changes within a minute") as refused:
        services.submit(USERS, who="ann")
    assert refused.value.sqlstate == "53400"
    assert re.fullmatch(r"Try again in (3\d|40) s\.", refused.value.hint or "")
    assert services.submit(USERS, who="bob").status == Status.QUEUED


def test_what_asks_for_nothing_and_what_is_refused_do_not_count() -> None:
    submitted("ann")
    with pytest.raises(NothingToDo):
        services.submit("DROP TABLE IF EXISTS nowhere", who="ann")
    with pytest.raises(DdlError, match='"nowhere" does not exist'):
        services.submit("DROP TABLE nowhere", who="ann")
    assert Change.objects.count() == settings.CHANGES_PER_MINUTE


def test_the_limit_is_a_setting(settings: Any) -> None:
    settings.CHANGES_PER_MINUTE = 3
    submitted("ann")
    with pytest.raises(TooFast, match="^you have submitted 3 changes within a minute"):
        services.submit(USERS, who="ann")
    settings.CHANGES_PER_MINUTE = 4
    assert services.submit(USERS, who="ann").status == Status.QUEUED


def test_after_a_minute_one_may_submit_again() -> None:
    submitted("ann", seconds_ago=61)
    assert services.submit(USERS, who="ann").status == Status.QUEUED


def test_the_command_has_the_same_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted("ann")
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    with pytest.raises(CommandError, match=r"(?s)SQLSTATE 53400.*HINT: Try again in \d+ s"):
        call_command("change", "submit", USERS)


def test_too_many_questions_are_answered_by_unknown_and_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(parse(USERS).action, None, table_id=1)
    Proof.objects.bulk_create(Proof(key=str(n), plan={}, asked_at=now()) for n in range(QUESTIONS_MAX))
    shown = proofs.shown(proofs.ask(plan))
    assert (shown["verdict"], shown["is_over"]) == ("unknown", True)
    assert re.match(r"too many plans were asked about within a minute; ask again in \d+ s", shown["why"])
    assert Proof.objects.count() == QUESTIONS_MAX
    Proof.objects.update(asked_at=now() - timedelta(minutes=2))
    assert proofs.shown(proofs.ask(plan))["verdict"] == "proving"
