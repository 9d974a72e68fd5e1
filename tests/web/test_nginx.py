"""The nginx block of the how-to, before a real page: what it lets through, and what it ends."""

import json
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.test import Client
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from lab.own.allowance import Allowances
from schemalab.polling import wait_for
from schemalab.supervisor.children import Launch, start, stop
from tests.web.conftest import Site

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian: apt-get install nginx-light)")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "teach-a-class.md"
TLS = ROOT / "tests" / "nodes" / "clients" / "tls"
CONNECTIONS_MAX, HEADER_S = 3, 1
ORIGIN = "https://localhost"
CONTEXT = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
CONTEXT.check_hostname = False
CONTEXT.verify_mode = ssl.CERT_NONE


def block() -> str:
    """The block as the how-to has it."""
    [found] = re.findall(r"```\n(limit_conn_zone .*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


def changed(text: str, **values: str) -> str:
    """The block with other values of some directives: each must be there."""
    for directive, value in values.items():
        text, count = re.subn(rf"(\b{directive}\s+)[^;]+;", lambda found, value=value: f"{found[1]}{value};", text)
        assert count == 1, directive
    return text


@pytest.fixture
def proxy(site: Site, tmp_path: Path) -> Iterator[int]:
    """The port of nginx with that block before the page; it lets three connections in, and is patient for a second."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    here = changed(
        block(),
        listen=f"127.0.0.1:{port} ssl",
        server_name="localhost",
        ssl_certificate=str(TLS / "cert.pem"),
        ssl_certificate_key=str(TLS / "key.pem"),
        limit_conn=f"lab_addresses {CONNECTIONS_MAX}",
        client_header_timeout=f"{HEADER_S}s",
        client_body_timeout=f"{HEADER_S}s",
        proxy_pass=f"http://{site.host}",
    )
    folders = "\n".join(
        f"{kind}_temp_path {tmp_path / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config, log = tmp_path / "nginx.conf", tmp_path / "nginx.log"
    config.write_text(
        f"daemon off;\nmaster_process off;\npid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{folders}\n{here}\n}}\n"
    )
    assert NGINX is not None
    argv = (NGINX, "-p", str(tmp_path), "-c", str(config))
    tried = subprocess.run([*argv, "-t"], capture_output=True, text=True, check=False, timeout=30)
    assert tried.returncode == 0, tried.stderr
    launch = Launch(argv=argv, env={}, cwd=tmp_path)
    child = start(launch, output=log)

    def answers() -> bool:
        assert child.poll() is None, log.read_text()
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_for(answers, what="nginx", seconds_max=10)
        yield port
    finally:
        stop(child, launch)


def ask(port: int, method: str, path: str, body: str = "", **headers: str) -> tuple[int, str]:
    connection = HTTPSConnection("localhost", port, context=CONTEXT, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body.encode(), named)
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, text


def test_a_page_a_form_and_the_address_of_its_sender_get_through(proxy: int, planning_time: Allowances) -> None:
    """The page hears who asks from nginx alone, not from what a client claims."""
    assert ask(proxy, "GET", "/healthz")[0] == 200
    token = "t" * 32
    form = {"statement": "CREATE TABLE pets (id bigint PRIMARY KEY)", "csrfmiddlewaretoken": token}
    status, text = ask(
        proxy,
        "POST",
        "/lab/own/",
        urlencode(form),
        Cookie=f"csrftoken={token}",
        Content_Type="application/x-www-form-urlencoded",
        Origin=ORIGIN,
        X_Forwarded_For="6.6.6.6",
    )
    assert (status, "pets" in text) == (200, True)
    assert list(planning_time._used) == ["127.0.0.1"]


@pytest.fixture
def follow(proxy: int, site: Site, client_of: Callable[[str], Client]) -> Callable[[], ClientConnection]:
    headers = {"Cookie": site.cookie(client_of("lea"))}
    return lambda: connect(f"wss://localhost:{proxy}/live/", ssl=CONTEXT, additional_headers=headers, origin=ORIGIN)


def test_a_websocket_gets_through_and_no_more_than_an_address_may_have(
    follow: Callable[[], ClientConnection], proxy: int
) -> None:
    with ExitStack() as held:
        first = held.enter_context(follow())
        first.send(json.dumps({"follow": "nothing of that name"}))
        assert first.recv(timeout=10)
        for _ in range(CONNECTIONS_MAX - 1):
            held.enter_context(follow())
        with pytest.raises(InvalidStatus) as refused:
            follow()
        assert refused.value.response.status_code == 503
        assert ask(proxy, "GET", "/healthz")[0] == 503
    wait_for(lambda: ask(proxy, "GET", "/healthz")[0] == 200, what="a place", seconds_max=10)


def test_half_a_request_ends_soon_and_a_long_body_is_refused(proxy: int) -> None:
    with socket.create_connection(("127.0.0.1", proxy)) as plain, CONTEXT.wrap_socket(plain) as half:
        half.settimeout(30)
        half.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        began = time.monotonic()
        assert half.recv(1000).partition(b"\r\n")[0] in (b"", b"HTTP/1.1 408 Request Time-out")
        assert time.monotonic() - began < 10 * HEADER_S
    assert ask(proxy, "POST", "/lab/own/", "x" * (5 * 2**20))[0] == 413


def test_the_block_is_what_the_page_says() -> None:
    text = block()
    for words in ("limit_conn lab_addresses 300;", "client_header_timeout 10s;", "client_max_body_size 4m;"):
        assert words in text
