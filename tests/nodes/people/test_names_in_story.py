"""Names that look like an account's: a node that asks for no password takes them, and the story marks them."""

import psycopg
import pytest

from nodes.people.rights import NAME_CHARS_MAX, Person
from tests.nodes.conftest import Cluster

ACCOUNT = "story_olga"


def who_made(cluster: Cluster, name: str, table: str) -> list[str]:
    """The names that the story has for a table and a view that somebody makes."""
    with psycopg.connect(cluster.address(user=name), autocommit=True) as connection:
        with connection.transaction():
            connection.execute(f"CREATE TABLE {table} (id int PRIMARY KEY)")
        connection.execute(f"CREATE VIEW {table}_view AS SELECT id FROM {table}")
        assert connection.execute("SELECT current_user").fetchone() == (name,)
    found = cluster.read(
        "SELECT payload->>'who' FROM catalog_storyevent WHERE kind IN ('table created', 'view created')"
        " AND subject = ANY(%s) ORDER BY seq",
        [[table, f"{table}_view"]],
    )
    return [who for (who,) in found]


@pytest.mark.parametrize(
    ("name", "table"), [("OWNER", "upper"), ("0wner", "zero"), ("x" * 63, "longest"), ("名", "han")]
)
def test_a_name_without_an_account_is_marked(cluster: Cluster, name: str, table: str) -> None:
    assert set(who_made(cluster, name, f"story_{table}")) == {f"{name} (SQL)"}


def test_the_name_of_an_account_is_as_it_is(cluster: Cluster) -> None:
    with cluster.store() as store:
        store.execute(
            "INSERT INTO auth_user (username, password, is_superuser, first_name, last_name, email, is_staff,"
            " is_active, date_joined) VALUES (%s, '!', true, '', '', '', false, true, now())",
            [ACCOUNT],
        )
        assert set(who_made(cluster, ACCOUNT, "story_account")) == {ACCOUNT}
        store.execute("DELETE FROM auth_user WHERE username = %s", [ACCOUNT])


@pytest.mark.parametrize("name", [
    pytest.param("owner ", id="a blank behind it"),
    pytest.param(" owner", id="a blank before it"),
    pytest.param("own\u200ber", id="a zero-width space"),
    pytest.param("owner\u2060", id="a word joiner"),
    pytest.param("\u202erenwo", id="right to left"),
    pytest.param("owner\u00a0", id="a no-break space"),
    pytest.param("ow\tner", id="a tab"),
    pytest.param("x" * 500, id="500 characters"),
    pytest.param("x" * (NAME_CHARS_MAX + 1), id="one too many"),
])  # fmt: skip
def test_a_name_that_hides_something_is_refused(cluster: Cluster, name: str) -> None:
    with pytest.raises(psycopg.OperationalError) as refused:
        psycopg.connect(cluster.address(user=name))
    told = str(refused.value)
    assert "and no other name like that is taken" in told
    assert "a name has at most 63 printable characters, without blanks at its ends" in told
    assert told.isascii()
    assert len(told) < 500


def test_an_account_may_have_a_longer_name() -> None:
    """The page lets it have 150 characters."""
    person = Person("l" * 150, has_account=True)
    assert person.why_not_served() is None
    assert person.in_story(person.name) == "l" * 150
