"""The stage of tests/storage, and one Spark session for all tests that need one."""

from collections.abc import Iterator

import pytest

from tests.storage.conftest import stage, transactional_db

__all__ = ["spark", "stage", "transactional_db"]


@pytest.fixture(scope="session")
def spark() -> Iterator[None]:
    """A warm session; gone at the end."""
    from spark_tasks import session

    session.warm_up()
    yield
    session.stop()
