"""A node that starts while the store recovers waits for it: one that ended would be started later each time."""

import io

import pytest
from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError, connection

from nodes.management.commands import node
from nodes.management.commands.node import Command

AWAY = "the database system is in recovery mode"


def command() -> tuple[Command, io.StringIO]:
    heard = io.StringIO()
    return Command(stdout=heard, stderr=heard, no_color=True), heard


def answers_at(number: int):
    """Work that finds the store away until it was asked so many times."""
    asked = iter(range(1, 100))

    def work() -> str:
        if next(asked) < number:
            raise OperationalError(AWAY)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 'registered'")
            return str(cursor.fetchone()[0])

    return work


@pytest.mark.django_db(transaction=True)
def test_a_node_waits_for_a_store_that_recovers_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "STORE_PAUSE_S", 0.001)
    starting, heard = command()
    assert starting.once_the_store_answers("n1", answers_at(4)) == "registered"
    assert heard.getvalue() == f"node n1 waits for the store: {AWAY}\n"


@pytest.mark.django_db(transaction=True)
def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "STORE_S_MAX", 0.0)
    with pytest.raises(CommandError, match=f"node n1 cannot register: {AWAY}"):
        command()[0].once_the_store_answers("n1", answers_at(50))


@pytest.mark.django_db(transaction=True)
def test_a_refusal_is_no_absence() -> None:
    def refused() -> None:
        raise ProgrammingError("no such function")

    with pytest.raises(CommandError, match="no such function"):
        command()[0].once_the_store_answers("n1", refused)


@pytest.mark.django_db
def test_a_node_that_may_not_act_as_the_reader_says_what_it_lacks() -> None:
    node.refuse_without_reader("n1")
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE stranger NOLOGIN")
        asked = "to_regrole(text), pg_has_role(oid, text), to_regnamespace(text), has_schema_privilege(name, oid, text)"
        cursor.execute(f"GRANT EXECUTE ON FUNCTION {asked} TO stranger")
        cursor.execute("SET LOCAL ROLE stranger")
    with pytest.raises(CommandError, match="n1 cannot act as the role schemalab_reader.* CREATEROLE"):
        node.refuse_without_reader("n1")
