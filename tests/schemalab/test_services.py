"""The embedded PostgreSQL and Redis: start, stop, start again with the data kept; nothing is left behind."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from redis import Redis

from schemalab.embedded.locations import Locations, UnsafeFolder, locations_of, prepare_folders
from tests.embedded_services import running_services
from tests.harness.services import private_home


@pytest.fixture
def home() -> Iterator[Path]:
    folder = private_home("services")
    yield folder
    shutil.rmtree(folder)


def processes_in(home: Path) -> set[int]:
    """Those that work in the folder: the servers, and PostgreSQL's processes for each session."""
    return {
        process.pid for process in psutil.process_iter(["cwd"]) if (process.info["cwd"] or "").startswith(str(home))
    }


def test_data_is_kept_over_a_restart_and_no_process_is_left(home: Path) -> None:
    with running_services(locations_of(home)) as services:
        with psycopg.connect(services.database_url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        with Redis.from_url(services.redis_url) as client:
            assert client.ping()
        assert len(processes_in(home)) >= 2
    assert processes_in(home) == set()
    with running_services(locations_of(home)) as services, psycopg.connect(services.database_url) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_the_server_has_what_the_protocol_needs(services: None) -> None:
    from django.conf import settings

    with psycopg.connect(settings.DATABASE_URL) as connection:
        assert connection.info.server_version >= 170000
        for name, value in (("listen_addresses", ""), ("max_pred_locks_per_page", "32"), ("jit", "off")):
            assert connection.execute("SELECT current_setting(%s)", [name]).fetchone() == (value,)


def test_each_home_has_its_own_places(tmp_path: Path) -> None:
    one, other = locations_of(tmp_path / "one"), locations_of(tmp_path / "other")
    assert {one.data, one.sockets, one.base}.isdisjoint({other.data, other.sockets, other.base})
    assert locations_of(tmp_path / "one") == one


def test_a_long_home_still_has_a_path_short_enough_for_a_socket(tmp_path: Path) -> None:
    places = locations_of(tmp_path / ("long" * 30))
    assert len(str(places.postgres_sockets / ".s.PGSQL.5432")) <= 107


def test_only_the_server_can_read_the_data(home: Path) -> None:
    places = locations_of(home)
    prepare_folders(places)
    assert places.data.stat().st_mode & 0o777 == 0o700
    assert places.postgres_sockets.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_change_is_refused(home: Path) -> None:
    places: Locations = locations_of(home)
    places.sockets.mkdir()
    os.chmod(places.sockets, 0o777)
    with pytest.raises(UnsafeFolder, match="must be a folder of .* that nobody else can change: remove it"):
        prepare_folders(places)
