"""Rules of acquiring and renewing, switched off one by one."""

import pytest

from tests.lab.mutations.edits import is_noticed, switches_of
from tests.lab.mutations.rules_left_out import Switch
from tests.leases.conftest import connect, database, publisher
from tests.leases.test_acquire_against_publish import asker, holder, node

__all__ = ["asker", "connect", "database", "holder", "node", "publisher"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that never has to wait is noticed sooner."""
    monkeypatch.setattr("tests.leases.rows.BLOCKED_S_MAX", 0.5)


@pytest.mark.parametrize(
    "switch", switches_of("leases/test_acquire_against_publish.py", "leases/test_lease_functions.py")
)
def test_a_rule_that_is_switched_off_is_noticed(switch: Switch, request: pytest.FixtureRequest) -> None:
    assert is_noticed(switch, request), f"nobody misses it: {switch.place}"
