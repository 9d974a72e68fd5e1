"""`python -m tests.chromium`: sees that the browser tests have Debian's chromium, installing it where we may. Without
it they are skipped, each with the reason, except in continuous integration."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path("/usr/bin/chromium")
INSTALL_S_MAX = 300
MISSING = f"{CHROMIUM} is missing (Debian: apt-get install chromium)"

ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def running_browser() -> Iterator["Browser"]:
    """A headless browser, which takes 1.5 s of a processor to start.

    Until it ends, an event loop runs in this thread, in which Django's ORM refuses to work.
    """
    from playwright.sync_api import sync_playwright

    if not CHROMIUM.exists():
        pytest.skip(MISSING)
    arguments = [*ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=arguments)
        yield running
        running.close()


def install() -> None:
    """Try to install it, as root on Debian; the outcome shows in the file system."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "chromium"]):
        try:
            subprocess.run(command, env=env, check=False, timeout=INSTALL_S_MAX, capture_output=True)
        except subprocess.TimeoutExpired:
            print(f"{' '.join(command)} took longer than {INSTALL_S_MAX} s", file=sys.stderr)


def main() -> int:
    if not CHROMIUM.exists():
        print("Installing chromium for the browser tests ..", flush=True)
        install()
    if CHROMIUM.exists():
        return 0
    print(f"browser tests will be skipped: {MISSING}", file=sys.stderr)
    return 1 if os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    sys.exit(main())
