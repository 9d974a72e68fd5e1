"""Both embedded services of a home as children of this process; `manage.py up` supervises the same launches."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import MappingProxyType

from schemalab.embedded import postgres, redis
from schemalab.embedded.locations import Locations, prepare_folders
from schemalab.supervisor.children import start, stop


@contextmanager
def running_services(
    locations: Locations, postgres_options: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Locations]:
    """PostgreSQL (with further settings) and Redis, answering; stopped at the end, however it comes."""
    prepare_folders(locations)
    postgres.prepare(locations)
    with ExitStack() as stack:
        database = postgres.launch(locations, postgres_options)
        server = start(database, output=locations.logs / "postgres.log")
        stack.callback(stop, server, database)
        broker = redis.launch(locations)
        cache = start(broker, output=locations.logs / "redis.log")
        stack.callback(stop, cache, broker)
        postgres.wait_until_ready(locations, still_running=server)
        redis.wait_until_ready(locations, still_running=cache)
        yield locations
