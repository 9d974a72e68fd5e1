"""A table on real storages for each test. Nothing is flushed between tests: each has a table of its own."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.storage.stage import Stage, new_stage, strike


@pytest.fixture
def transactional_db(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The test database without the flush of all tables after each test, which takes longer than most tests here."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def stage(dsn: str) -> Iterator[Stage]:
    made = new_stage(dsn)
    yield made
    strike(made)
