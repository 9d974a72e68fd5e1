"""Rules of `enter` and of the store, switched off one by one."""

import pytest

from tests.lab.mutations.edits import is_noticed, switches_of
from tests.lab.mutations.rules_left_out import Switch
from tests.storage.conftest import stage, transactional_db
from tests.storage.test_enter import client, publisher
from tests.storage.test_postgres import both

__all__ = ["both", "client", "publisher", "stage", "transactional_db"]
pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.mark.parametrize("switch", switches_of("storage/test_enter.py", "storage/test_postgres.py"))
def test_a_rule_that_is_switched_off_is_noticed(switch: Switch, request: pytest.FixtureRequest) -> None:
    assert is_noticed(switch, request), f"nobody misses it: {switch.place}"
