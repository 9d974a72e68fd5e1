"""The site in a browser's worker: Django answers requests in process, and all progress is one SQLite file. A service
worker's answers set no cookies, so the site keeps them, in its database: they travel with the file."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import unquote, urlsplit

from django.apps import apps
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection

from lab import services
from lab.explorer.spaces.search import Progress
from lab.models import Question
from schemalab.anywhere import searches

COOKIES = "CREATE TABLE anywhere_cookie (name text PRIMARY KEY, value text NOT NULL)"
FIRST_BYTES = b"SQLite format 3\x00"
OF_THE_PAGE = ("theme",)
"""Cookies that a page's own script sets."""


class NotKept(Exception):
    """A file that is not an export of this site."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Site:
    """One learner's site below `prefix`, such as "/course/", after `django.setup()`; one in a process and thread."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._handler = WSGIHandler()
        self._searches = False
        _make_tables()
        self._empty = self.kept()
        self.take(None)

    def answer(
        self, method: str, address: str, body: bytes, headers: Mapping[str, str], page_cookies: str = ""
    ) -> Answer:
        """The answer to a request for `address`: a path below the prefix, or a whole URL, with its query."""
        started: list[Any] = []

        def start_response(status: str, sent: list[tuple[str, str]], *_: object) -> None:
            started.extend((int(status.split()[0]), tuple(sent)))

        response = self._handler(self._environ(method, address, body, headers, page_cookies), start_response)
        try:
            content = b"".join(response)
        finally:
            response.close()
        status, sent = started
        self._keep_cookies(value for name, value in sent if name == "Set-Cookie")
        return Answer(status, tuple(pair for pair in sent if pair[0] != "Set-Cookie"), content)

    def _environ(
        self, method: str, address: str, body: bytes, headers: Mapping[str, str], page_cookies: str
    ) -> dict[str, Any]:
        where = urlsplit(address)
        named = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        return {
            **named,
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": self._prefix.rstrip("/"),
            "PATH_INFO": "/" + unquote(where.path.removeprefix(self._prefix), "latin-1"),
            "QUERY_STRING": where.query,
            "CONTENT_TYPE": named.get("HTTP_CONTENT_TYPE", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_COOKIE": self._cookies(page_cookies),
            "HTTP_HOST": named.get("HTTP_HOST", "anywhere"),
            "SERVER_NAME": "anywhere",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
        }

    def _cookies(self, page_cookies: str) -> str:
        with connection.cursor() as cursor:
            found = dict(cursor.execute("SELECT name, value FROM anywhere_cookie").fetchall())
        found |= {name: one.value for name, one in SimpleCookie(page_cookies).items() if name in OF_THE_PAGE}
        return "; ".join(f"{name}={value}" for name, value in found.items())

    def _keep_cookies(self, sent: Any) -> None:
        for one in (one for header in sent for one in SimpleCookie(header).values()):
            with connection.cursor() as cursor:
                cursor.execute("DELETE FROM anywhere_cookie WHERE name = %s", [one.key])
                if one.value and one["max-age"] != 0:
                    cursor.execute("INSERT INTO anywhere_cookie VALUES (%s, %s)", [one.key, one.coded_value])

    # Searches, which another worker does

    def next_search(self) -> tuple[int, str] | None:
        """The number of the next question that waits, and what is asked, as JSON; None while a search runs."""
        if self._searches or not searches.QUEUE.is_waiting:
            return None
        question = services.begin_next()
        searches.QUEUE.is_waiting = self._searches = question is not None
        return None if question is None else (question.pk, json.dumps(question.asked))

    def search_goes_on(self, pk: int, progress: str) -> bool:
        """Store how far a search is; False when nobody waits for its answer any more."""
        given = json.loads(progress)
        return services.report(
            Question.objects.get(pk=pk), Progress(given["states"], 0, given["depth"], given["seconds"])
        )

    def searched(self, pk: int, answer: str | None) -> None:
        """Store the answer that the search has found; None of one that was stopped."""
        self._searches = False
        if answer is not None:
            services.finish(Question.objects.get(pk=pk), json.loads(answer))

    # Progress

    def take(self, kept: bytes | None) -> None:
        """Go on with the progress of a file, or with none. Raises `NotKept`."""
        if kept is not None and not is_kept(kept):
            raise NotKept("this file holds no progress of this version of the lab")
        connection.connection.deserialize(self._empty if kept is None else kept)
        self._written = connection.connection.total_changes

    def kept(self) -> bytes:
        return bytes(connection.connection.serialize())

    def news(self) -> bytes | None:
        """The file, when something was written since this was last asked; a step on the stage writes nothing."""
        written = connection.connection.total_changes
        if written == self._written:
            return None
        self._written = written
        return self.kept()


def is_kept(file: bytes) -> bool:
    """True for a database with the tables of this version. An older one's few answers are made again."""
    if not file.startswith(FIRST_BYTES):
        return False
    with closing(sqlite3.connect(":memory:")) as other:
        other.deserialize(file)
        try:
            return all(_columns_there(other, model) == _columns(model) for model in _models("lab"))
        except sqlite3.DatabaseError:  # it only begins like one
            return False


def _make_tables() -> None:
    """From the models: the migrations are PostgreSQL's."""
    connection.ensure_connection()
    with connection.schema_editor() as editor:
        for model in (*_models("contenttypes"), *_models("auth"), *_models("lab")):
            editor.create_model(model)
    with connection.cursor() as cursor:
        cursor.execute(COOKIES)


def _models(label: str) -> Iterator[Any]:
    return apps.get_app_config(label).get_models()


def _columns_there(database: sqlite3.Connection, model: Any) -> set[str]:
    return {row[1] for row in database.execute(f'PRAGMA table_info("{model._meta.db_table}")')}


def _columns(model: Any) -> set[str]:
    return {field.column for field in model._meta.local_concrete_fields}
