"""A PostgreSQL for rollouts: the tests' own server, in schemas of their own."""

import pytest
from psycopg.conninfo import make_conninfo


@pytest.fixture(scope="session")
def url(services: None) -> str:
    from django.conf import settings

    one = settings.DATABASES["default"]
    parts = {"host": one["HOST"], "port": one["PORT"], "user": one["USER"], "password": one["PASSWORD"]}
    return make_conninfo(dbname="postgres", **{name: value for name, value in parts.items() if value})
