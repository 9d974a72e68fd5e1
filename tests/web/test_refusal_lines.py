"""What a refused request writes to the log: one line."""

import io
import logging
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT

from schemalab.connections.outages import Handler

ClientOf = Callable[[str], Client]


@pytest.fixture
def terminal() -> Iterator[io.StringIO]:
    """What the process's handler writes."""
    (handler,) = [one for one in logging.getLogger().handlers if isinstance(one, Handler)]
    terminal, before = io.StringIO(), handler.setStream(io.StringIO())
    handler.setStream(terminal)
    yield terminal
    handler.setStream(before)


@pytest.mark.parametrize(
    ("ask", "status"),
    [
        pytest.param(lambda client: client.get("/console/"), 403, id="a page for others"),
        pytest.param(lambda client: client.get("/tables/?q=%00"), 400, id="a zero byte"),
        pytest.param(lambda client: client.get("/tables/", HTTP_HOST="elsewhere.example"), 400, id="another host"),
        pytest.param(
            lambda client: client.post("/first-visit/", {f"f{n}": "" for n in range(1100)}), 400, id="many fields"
        ),
        pytest.param(
            lambda client: client.post(
                "/first-visit/", f"--{BOUNDARY}\r\nContent-Disposition: form-data\r\n", MULTIPART_CONTENT + "x" * 900
            ),
            400,
            id="a form that is none",
        ),
        pytest.param(lambda client: Client(enforce_csrf_checks=True).post("/sign-in/", {}), 403, id="no CSRF token"),
    ],
)
def test_a_refused_request_is_a_line_of_the_log(
    client_of: ClientOf, terminal: io.StringIO, ask: Callable[[Client], object], status: int
) -> None:
    client = client_of("lea")
    client.raise_request_exception = False
    assert ask(client).status_code == status
    (line,) = terminal.getvalue().splitlines()
    assert " WARNING django." in line or " ERROR django.security" in line


def test_a_mistake_of_ours_keeps_its_traceback(
    client_of: ClientOf, terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("schemalab.views.health", mistaken)
    client = Client(raise_request_exception=False)
    assert client.get("/healthz").status_code == 500
    assert "ZeroDivisionError" in terminal.getvalue()
