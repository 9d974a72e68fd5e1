"""A secret that nobody gave is made once, and is readable by its owner only."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from schemalab.local_secrets import secret


def test_a_secret_is_made_once_and_kept(tmp_path: Path) -> None:
    assert secret(tmp_path / "home", "SECRET_KEY") == secret(tmp_path / "home", "SECRET_KEY")
    assert len(secret(tmp_path / "home", "SECRET_KEY")) >= 50


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    secret(tmp_path, "SECRET_KEY")
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "secrets" / "SECRET_KEY").stat().st_mode & 0o777 == 0o600


def test_processes_that_ask_at_once_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        seen = set(pool.map(lambda _: secret(tmp_path, "SECRET_KEY"), range(32)))
    assert len(seen) == 1
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["SECRET_KEY"]
