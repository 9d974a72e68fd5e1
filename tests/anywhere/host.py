"""A static host: the folder of `make anywhere` below /course/ on a free port, as `python -m http.server` serves it."""

import functools
import hashlib
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]


def write_folder(host: Path) -> None:
    """Writes the folder as `host`/course. Raises `AssertionError` with what `pack` says when it fails."""
    command = [sys.executable, "-m", "schemalab.anywhere.pack", "--into", str(host / "course")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]


def memory_names(host: Path) -> list[str]:
    """The names under which a browser keeps its copy of Python's memory and files: the archive's hash is in them."""
    version = "".join(map(str, hashlib.sha256((host / "course" / "site.files.xz").read_bytes()).digest()))
    return [f"memory-{version}", f"files-{version}"]


class Served:
    """The folder on its port, until `end`."""

    def __init__(self, host: Path) -> None:
        handler = functools.partial(Quiet, directory=str(host))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}/course"

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    """The handler of `python -m http.server`, without its log; with a host's page for a missing file."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        if code != 404 or self.path.endswith(".gz"):
            super().send_error(code, message, explain)
            return
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write((Path(self.directory) / "course" / "404.html").read_bytes())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass
