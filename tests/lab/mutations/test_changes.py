"""Rules of publishing, draining and driving, switched off one by one."""

import pytest

from tests.changes.conftest import cluster, runs_in_the_drivers_thread
from tests.changes.driver.test_publish import two
from tests.lab.mutations.edits import is_noticed, switches_of
from tests.lab.mutations.rules_left_out import Switch

__all__ = ["cluster", "runs_in_the_drivers_thread", "two"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("switch", switches_of("changes/driver/test_publish.py", "changes/driver/test_driver.py"))
def test_a_rule_that_is_switched_off_is_noticed(switch: Switch, request: pytest.FixtureRequest) -> None:
    assert is_noticed(switch, request), f"nobody misses it: {switch.place}"
