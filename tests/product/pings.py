"""A client in a process of its own, which asks all the time, and prints when each answer came and how long it took.

python -m tests.product.pings sql DSN TABLE
python -m tests.product.pings page ADDRESS COOKIE
"""

import http.client
import sys
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import psycopg

EVERY_S = 0.02


def of_sql(dsn: str, table: str) -> Callable[[], None]:
    connection = psycopg.connect(dsn, autocommit=True)

    def ask() -> None:
        assert connection.execute(f"SELECT n FROM {table} WHERE id = 7").fetchone() is not None  # type: ignore[arg-type]

    return ask


def of_page(address: str, cookie: str) -> Callable[[], None]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)

    def ask() -> None:
        connection.request("GET", "/", headers={"Cookie": cookie})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status

    return ask


if __name__ == "__main__":
    ask = {"sql": of_sql, "page": of_page}[sys.argv[1]](*sys.argv[2:])
    while True:
        began = time.time()
        ask()
        print(began, time.time(), flush=True)
        time.sleep(EVERY_S)
