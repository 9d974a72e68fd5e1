"""Changes of these tests are driven where the test stands."""

import pytest

from tests.changes.conftest import runs_in_the_drivers_thread

__all__ = ["runs_in_the_drivers_thread"]


@pytest.fixture(autouse=True)
def enough_changes(settings) -> None:
    settings.CHANGES_PER_MINUTE = 100
