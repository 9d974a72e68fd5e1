"""Generated secrets, kept in $SCHEMALAB_HOME/secrets for their owner only."""

import os
import secrets
from pathlib import Path

from schemalab.sources import make_home

FOLDER = "secrets"
BYTES = 48


def secret(home: Path, name: str) -> str:
    """The secret `name` of this home; of several processes at once the first one's stays."""
    path = home / FOLDER / name
    if not path.exists():
        _make(path)
    return path.read_text().strip()


def _make(path: Path) -> None:
    make_home(path.parent.parent)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(BYTES) + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        return  # another process was first: its secret is the one
    finally:
        draft.unlink()
