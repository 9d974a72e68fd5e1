"""What a client can make the page take in: raw sockets against uvicorn with the flags of the Procfile."""

import asyncio
import inspect
import json
import resource
import shlex
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import uvicorn
from django.conf import settings
from django.test import Client
from uvicorn.server import ServerState
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from catalog.live import consumers
from schemalab.http.protocol import BoundedProtocol, _idle
from schemalab.launch.procfile import read_procfile
from tests.web.conftest import Site

ClientOf = Callable[[str], Client]
OWN = (
    "http",
    "h11_max_incomplete_event_size",
    "ws",
    "ws_max_size",
    "ws_per_message_deflate",
    "limit_concurrency",
    "lifespan",
)


def shipped() -> dict[str, Any]:
    """The flags that `manage.py up` starts the page with, as uvicorn understands them."""
    parsed = uvicorn.main.make_context("uvicorn", words_of_the_page()).params
    return {name: parsed[name] for name in OWN}


def words_of_the_page() -> list[str]:
    command = read_procfile((Path(__file__).parents[2] / "Procfile").read_text())["web"]
    arguments = shlex.split(command.replace("$HOST", "127.0.0.1").replace("$PORT", "0"))
    return arguments[arguments.index("uvicorn") + 1 :]


def test_every_flag_about_sockets_is_read_by_what_serves_them() -> None:
    config = uvicorn.Config("schemalab.asgi:application", **shipped())
    config.load()
    read = "".join(inspect.getsource(one) for one in config.ws_protocol_class.__mro__[:-1])
    flags = [word.removeprefix("--").replace("-", "_") for word in words_of_the_page() if word.startswith("--ws-")]
    assert "ws_max_size" in flags
    assert [flag for flag in flags if f"config.{flag}" not in read] == []


@pytest.mark.parametrize(("proxies", "is_bounded"), [("127.0.0.1", False), ("nobody", True)])
def test_a_proxy_of_ours_is_not_bounded_by_its_address(
    monkeypatch: pytest.MonkeyPatch, proxies: str, is_bounded: bool
) -> None:
    """All requests come from there; the first of its connections beyond the bound is refused, or is not."""
    monkeypatch.setattr("schemalab.http.protocol.ADDRESS_MAX", 0)
    config = uvicorn.Config("schemalab.asgi:application", **shipped() | {"forwarded_allow_ips": proxies})
    config.load()

    async def refused() -> bytes:
        server = await asyncio.get_running_loop().create_server(
            lambda: BoundedProtocol(config, ServerState(), {}), "127.0.0.1", 0
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"GET /alive HTTP/1.0\r\n\r\n")
            answer = await reader.read(12)
            writer.close()
        return answer

    assert asyncio.run(refused()) == (b"HTTP/1.1 503" if is_bounded else b"HTTP/1.1 204")


@pytest.fixture
def site(transactional_db: None, redis_url: str) -> Iterator[Site]:
    from schemalab.asgi import application

    flags = shipped() | {"forwarded_allow_ips": "nobody"}  # as `schemalab.launch.plan` has it without a proxy
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=0, log_level="error", **flags))
    thread = threading.Thread(target=server.run, name="bounded site", daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield Site(f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
    server.should_exit = True
    thread.join(20)
    assert not thread.is_alive()


@pytest.fixture
def many_files() -> Iterator[None]:
    """Both ends of a thousand connections are this process's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connected(site: Site) -> socket.socket:
    host, port = site.host.split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def answer_to(site: Site, *parts: bytes) -> bytes:
    """What comes back until the server closes; it may close while we still send."""
    with connected(site) as client:
        try:
            for part in parts:
                client.sendall(part)
        except OSError:
            pass
        return rest_of(client)


def is_closed(client: socket.socket) -> bool:
    """The server has closed it: its kernel refuses what is sent."""
    try:
        for _ in range(2):
            client.sendall(b"\r\n")
            time.sleep(0.1)
    except OSError:
        return True
    return False


def rest_of(client: socket.socket) -> bytes:
    got = b""
    try:
        while part := client.recv(65536):
            got += part
    except ConnectionResetError:
        pass
    return got


HEAD = b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
MB = b"x" * 2**20


def test_requests_are_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """One server for all of it: starting and emptying the database costs more than the cases."""
    monkeypatch.setattr("schemalab.http.protocol.HEAD_S_MAX", 0.3)
    monkeypatch.setattr("schemalab.http.request_bounds.BODY_S_MAX", 0.3)
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE

    long_head = answer_to(site, b"GET /help/ HTTP/1.1\r\nHost: localhost\r\n", b"X-Long: ", *[MB] * 8)
    assert long_head == b"" or b" 400 " in long_head[:20], "refused; we may still send when it closes"

    announced = answer_to(site, HEAD + b"Content-Length: %d\r\n\r\n" % (most + 1))
    assert announced.startswith(b"HTTP/1.1 413 ")
    assert f"longer than {most} bytes".encode() in announced

    chunks = [b"%x\r\n%s\r\n" % (len(MB), MB)] * 8
    in_pieces = answer_to(site, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *chunks)
    assert in_pieces == b"" or b" 413 " in in_pieces[:20], "refused; we may still send when it closes"

    began = time.monotonic()
    assert b" 408 " in answer_to(site, HEAD + b"Content-Length: 100\r\n\r\nslow")[:20]
    assert answer_to(site, b"GET /help/ HT") == b""
    assert answer_to(site, b"") == b""
    assert time.monotonic() - began < 20

    with connected(site) as kept:
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert kept.recv(65536).startswith(b"HTTP/1.1 ")
        kept.sendall(b"GET /heal")
        assert b"HTTP/1.1 2" not in rest_of(kept)

    assert b" 200 " in answer_to(site, b"GET /help/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")[:20]


REQUEST = b"GET %s HTTP/1.1\r\nHost: localhost\r\nCookie: %s\r\nConnection: close\r\n\r\n"
HANDSHAKE = (
    b"GET /live/ HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
LONGEST = b"editor.js"
HELD = 1150


@pytest.mark.alone
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET /help/ HT", id="half a head"),
        pytest.param(HEAD + b"Content-Length: 100\r\n\r\nhalf", id="half a body"),
        pytest.param(b"GET /alive HTTP/1.1\r\nHost: localhost\r\n\r\n", id="connections that are kept"),
        pytest.param(HANDSHAKE, id="sockets without a sign-in"),
    ],
)
def test_connections_that_do_nothing_stop_nobody(site: Site, many_files: None, words: bytes) -> None:
    """More than there may be in all, renewed for three seconds from one address; others are served meanwhile."""
    held: deque[socket.socket] = deque(maxlen=HELD)
    seconds, statuses = [], []

    def ask() -> None:
        began = time.monotonic()
        statuses.append(answer_to(site, REQUEST % (b"/help/", b""))[9:12])
        seconds.append(time.monotonic() - began)

    ask()
    until = time.monotonic() + 3
    while len(held) < HELD or time.monotonic() < until:
        for _ in range(50):
            client = connected(site)
            client.sendall(words)
            held.append(client)
        ask()
    for client in held:
        client.close()
    assert set(statuses) == {b"200"}
    assert median(seconds) < 1


def test_an_open_page_is_no_idle_connection(site: Site, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest idle one of an address gives way to further ones; a page that follows a stream does not."""
    monkeypatch.setattr("schemalab.http.protocol.IDLE_MAX", 2)
    headers = {"Cookie": site.cookie(client_of("lea"))}
    with (
        ExitStack() as open_connections,
        connect(f"ws://{site.host}/live/", additional_headers=headers, origin=f"http://{site.host}") as followed,
    ):
        assert json.loads(followed.recv(5))["type"] == "hello"
        idle = [open_connections.enter_context(connected(site)) for _ in range(4)]
        assert idle[0].recv(1) == b"", "the oldest of those without a request"
        followed.send(json.dumps({"type": "subscribe", "stream": "cluster"}))
        assert json.loads(followed.recv(5))["type"] == "snapshot"


def test_a_socket_that_has_ended_is_no_idle_connection(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemalab.http.protocol.IDLE_MAX", 2)
    with connected(site) as kept:
        for _ in range(3):
            with connected(site) as left:
                left.sendall(HANDSHAKE)
                assert left.recv(65536).startswith(b"HTTP/1.1 101 ")
            until_left(1)
        kept.sendall(b"GET /alive HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert kept.recv(65536).startswith(b"HTTP/1.1 204 ")


def until_left(count: int) -> None:
    """Wait until as many connections are idle, of all addresses."""
    deadline = time.monotonic() + 5
    while sum(map(len, list(_idle.values()))) != count:
        assert time.monotonic() < deadline, "who leaves makes room"
        time.sleep(0.01)


def test_an_address_has_some_of_all_connections(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemalab.http.protocol.ADDRESS_MAX", 5)
    with ExitStack() as open_connections:
        held = [open_connections.enter_context(connected(site)) for _ in range(5)]
        for client in held:
            client.sendall(b"GET /alive HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 204 ")
        assert answer_to(site, b"GET /alive HTTP/1.1\r\n").endswith(b"too many connections from your address\n")
    deadline = time.monotonic() + 5
    while b" 204 " not in answer_to(site, REQUEST % (b"/alive", b""))[:20]:
        assert time.monotonic() < deadline, "who leaves makes room"


def test_an_answer_that_nobody_reads_ends_its_connection(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemalab.http.protocol.FLUSH_S", 1.2)
    long_answer = b"GET /static/vendor/%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(site) as slow, connected(site) as deaf:
        for client in (slow, deaf):
            client.sendall(long_answer % LONGEST * 80)
        for _ in range(16):
            time.sleep(0.2)
            for _ in range(20):
                assert slow.recv(65536), "who reads slowly is served"
        assert is_closed(deaf)
        assert not is_closed(slow)


def test_a_visitors_many_requests_slow_nobody_elses(site: Site, client_of: ClientOf) -> None:
    """40 at a time of one; the home page of another takes at most three times as long as it does alone (without a queue
    40 times). Other tests may begin between the two measurements: so three pairs are tried."""
    cookies = {name: site.cookie(client_of(name)).encode() for name in ("lea", "sam")}

    def ask(name: str) -> float:
        began = time.monotonic()
        assert answer_to(site, REQUEST % (b"/", cookies[name])).startswith(b"HTTP/1.1 200 ")
        return time.monotonic() - began

    def times_slower() -> float:
        stop = threading.Event()

        def ask_again() -> None:
            while not stop.is_set():
                ask("sam")

        alone = median(ask("lea") for _ in range(15))
        crowd = [threading.Thread(target=ask_again) for _ in range(40)]
        for thread in crowd:
            thread.start()
        try:
            time.sleep(0.5)
            return median(ask("lea") for _ in range(15)) / alone
        finally:
            stop.set()
            for thread in crowd:
                thread.join()

    for name in cookies:
        ask(name)
    assert any(times_slower() <= 3 for _ in range(3))


def test_sockets_are_bounded(
    site: Site, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(consumers, "SOCKETS_MAX_EACH", 3)
    clients = {name: client_of(name) for name in ("lea", "sam")}

    def browse(name: str) -> Any:
        headers = {"Cookie": site.cookie(clients[name])}
        return connect(f"ws://{site.host}/live/", additional_headers=headers, origin=f"http://{site.host}")

    with browse("lea") as socket:
        said = [said_to(socket, message) for message in ("{", "[" * 60_000, "[]", json.dumps({"type": "x" * 60_000}))]
        assert said[0] == said[1] == "a message is a JSON object, as text"
        assert all(len(text) < 200 for text in said)
        assert "must be the number" in said_to(
            socket, json.dumps({"type": "subscribe", "stream": "cluster", "since": 10**30})
        )

    with browse("lea") as socket:
        socket.send("x" * 65_537)
        assert code_of(socket) == 1009, "a message that is too long"

    with browse("lea") as socket:
        for _ in range(200):
            try:
                socket.send('{"type": "pong"}')
            except ConnectionClosed:
                break
        assert code_of(socket) == 1008, "too many messages"

    assert until_free(browse, 3)
    with ExitStack() as tabs:
        for _ in range(3):
            tabs.enter_context(browse("lea"))
        with pytest.raises(InvalidStatus):
            browse("lea")
        with browse("sam") as other:
            assert json.loads(other.recv(20))["type"] == "hello"
    assert "'lea' has 3 pages open" in caplog.text
    assert until_free(browse, 3), "who leaves makes room"
    assert "Traceback" not in caplog.text


def until_free(browse: Callable[[str], Any], count: int) -> bool:
    deadline = time.monotonic() + 20
    while consumers.sockets and time.monotonic() < deadline:
        time.sleep(0.02)
    with ExitStack() as tabs:
        for _ in range(count):
            tabs.enter_context(browse("lea"))
    while consumers.sockets and time.monotonic() < deadline:
        time.sleep(0.02)
    return not consumers.sockets


def said_to(socket: Any, message: str) -> str:
    socket.send(message)
    while True:
        heard = json.loads(socket.recv(20))
        if heard["type"] == "error":
            return heard["message"]


def code_of(socket: Any) -> int:
    try:
        while True:
            socket.recv(20)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 0
