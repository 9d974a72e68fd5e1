"""What a browser's worker may load: the rule of `make check`, and that it refuses what a browser has not."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.urls import reverse

from schemalab.anywhere.loaded import may_load
from schemalab.anywhere.urls import ELSEWHERE

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("module", "may"),
    [
        pytest.param("lab.services", True, id="the lab"),
        pytest.param("django.test", True, id="Django"),
        pytest.param("sqlite3", True, id="the standard library"),
        pytest.param("psycopg.sql", False, id="the client of PostgreSQL"),
        pytest.param("redis", False, id="the client of Redis"),
        pytest.param("celery", False, id="Celery"),
        pytest.param("pwd", False, id="a module that WebAssembly has not"),
        pytest.param("changes.models", False, id="the rows of a cluster"),
    ],
)
def test_what_a_worker_may_load(module: str, may: bool) -> None:
    assert may_load(module) is may


def test_the_pages_load_only_what_a_browser_has() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "schemalab.anywhere.loaded"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stderr == ""  # `make check` prints nothing


def test_a_module_that_a_page_may_not_load_is_refused() -> None:
    script = (
        "import sys; from schemalab.anywhere.loaded import OnlyWhatIsThere;"
        "sys.meta_path.insert(0, OnlyWhatIsThere()); import lab.tasks"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "no module celery in a browser" in ended.stderr


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_page_that_needs_a_cluster_has_its_address_there(name: str) -> None:
    assert reverse(name) == f"/{ELSEWHERE[name]}"
