"""Rules of a node's transactions, switched off one by one."""

import pytest

from tests.lab.mutations.edits import is_noticed, switches_of
from tests.lab.mutations.rules_left_out import Switch


@pytest.mark.parametrize("switch", switches_of("nodes/store/test_reading.py"))
def test_a_rule_that_is_switched_off_is_noticed(switch: Switch, request: pytest.FixtureRequest) -> None:
    assert is_noticed(switch, request), f"nobody misses it: {switch.place}"
