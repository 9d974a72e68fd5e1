"""Asks each kind of process whether it lives. Any answer will do, such as a node's to SSLRequest: this finds hangs."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import psycopg
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from schemalab.embedded.locations import Locations
from schemalab.supervisor.heartbeat import last_beat

ANSWER_S_MAX = 2
SSL_REQUEST = bytes((0, 0, 0, 8, 4, 210, 22, 47))
Question = Callable[[], Awaitable[bool]]


def ask_port(host: str, port: int, words: bytes) -> Question:
    async def ask() -> bool:
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                reader, writer = await asyncio.open_connection(host, port)
                try:
                    writer.write(words)
                    await reader.read(1)  # the end of the stream is an answer, too
                finally:
                    writer.close()
        except ConnectionResetError:
            return True
        except (OSError, TimeoutError):
            return False
        return True

    return ask


def ask_node(host: str, port: int) -> Question:
    return ask_port(host, port, SSL_REQUEST)


def ask_web(host: str, port: int) -> Question:
    return ask_port(host, port, b"GET /alive HTTP/1.0\r\n\r\n")


def ask_heartbeat(path: Path) -> Question:
    seen = last_beat(path)

    async def ask() -> bool:
        nonlocal seen
        before, seen = seen, last_beat(path)
        return seen != before

    return ask


def ask_postgres(locations: Locations) -> Question:
    async def ask() -> bool:
        return await asyncio.to_thread(_postgres_answers, locations.url_of("postgres"))

    return ask


def _postgres_answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=ANSWER_S_MAX):
            return True
    except psycopg.OperationalError as error:
        return "FATAL" in str(error)  # it starts, recovers, has no room: a server that says so lives


def ask_redis(url: str) -> Question:
    async def ask() -> bool:
        return await asyncio.to_thread(_redis_answers, url)

    return ask


def _redis_answers(url: str) -> bool:
    try:
        with Redis.from_url(url, socket_timeout=ANSWER_S_MAX, socket_connect_timeout=ANSWER_S_MAX) as client:
            client.ping()
    except (RedisConnectionError, RedisTimeoutError, OSError):
        return False
    except RedisError:
        return True
    return True
