"""Health of the cluster: the database, Redis and the nodes answer."""

from dataclasses import asdict, dataclass

from django.conf import settings
from django.db import Error, connection

from schemalab.embedded import redis


@dataclass(frozen=True, slots=True)
class Health:
    database: bool
    redis: bool
    nodes_up: int
    nodes_expected: int

    @property
    def is_well(self) -> bool:
        return self.database and self.redis

    def as_dict(self) -> dict[str, object]:
        return {"well": self.is_well, **asdict(self)}


def health() -> Health:
    up = nodes_up()
    return Health(
        database=up is not None,
        redis=redis.is_ready(settings.REDIS_URL),
        nodes_up=len(up or ()),
        nodes_expected=settings.NODES,
    )


def nodes_up() -> list[tuple[str, str, int]] | None:
    """(name, host, port) of the nodes that should be up; None when the database does not answer."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT name, host, port FROM leases_node WHERE state = 'up' ORDER BY name")
            return list(cursor.fetchall())
    except Error:
        return None
