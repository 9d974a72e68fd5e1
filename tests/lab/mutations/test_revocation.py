"""Rules of restarts and revocations, switched off one by one."""

import pytest

from tests.lab.mutations.edits import is_noticed, switches_of
from tests.lab.mutations.rules_left_out import Switch
from tests.leases.conftest import connect, database, node

__all__ = ["connect", "database", "node"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("switch", switches_of("leases/test_nodes_and_revocation.py"))
def test_a_rule_that_is_switched_off_is_noticed(switch: Switch, request: pytest.FixtureRequest) -> None:
    assert is_noticed(switch, request), f"nobody misses it: {switch.place}"
