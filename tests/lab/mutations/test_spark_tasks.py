"""Rules of the reorganisation, switched off one by one."""

import pytest

from tests.lab.mutations.edits import is_noticed, switches_of
from tests.lab.mutations.rules_left_out import Switch
from tests.spark_tasks.conftest import runs
from tests.spark_tasks.test_interrupted import offered, small
from tests.storage.conftest import stage, transactional_db

__all__ = ["offered", "runs", "small", "stage", "transactional_db"]
pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.mark.parametrize("switch", switches_of("spark_tasks/test_backfill.py", "spark_tasks/test_interrupted.py"))
def test_a_rule_that_is_switched_off_is_noticed(switch: Switch, request: pytest.FixtureRequest) -> None:
    assert is_noticed(switch, request), f"nobody misses it: {switch.place}"
