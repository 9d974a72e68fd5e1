"""Tells whether a file is the one whose load began, since its chunks must be the same: size and digest, kept with the
job, when an attempt begins (a copy will do); size and time of last change before each chunk."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from spark_tasks.load.file_rows import CannotLoad

T = TypeVar("T")
Look = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """A file by content, and its last change as this attempt found it."""

    size: int
    changed_ns: int
    digest: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def identity_of(path: Path) -> FileIdentity:
    """The identity of a file that no process is writing. Raises `CannotLoad`."""
    before = look_at(path)
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "blake2b").hexdigest()
    except OSError as error:
        raise CannotLoad(f"{path.name} cannot be read: {error.strerror or error}") from None
    require_untouched(path, before)
    return FileIdentity(*before, digest)


def look_at(path: Path) -> Look:
    try:
        stat = path.stat()
    except OSError as error:
        raise CannotLoad(f"{path.name} cannot be read: {error.strerror or error}") from None
    return stat.st_size, stat.st_mtime_ns


def require_untouched(path: Path, before: Look) -> None:
    """Raises `CannotLoad` when the file was written since."""
    if look_at(path) != before:
        raise CannotLoad(f"{path.name} was changed while it was read: load it once it is complete")


def require_same(path: Path, began: FileIdentity, now: FileIdentity) -> None:
    """Raises `CannotLoad` for another file."""
    if now.size != began.size:
        raise _replaced(path, f"it has {now.size:,} bytes, and had {began.size:,}")
    if now.digest != began.digest:
        raise _replaced(path, "it is as long, and says something else")


def untouched(path: Path, found: FileIdentity, chunks: Iterable[T]) -> Iterator[T]:
    """A worker's chunks of the driver's file, each read before any change."""
    here = look_here(path, found)
    for chunk in chunks:
        require_untouched(path, here)
        yield chunk


def look_here(path: Path, found: FileIdentity) -> Look:
    """A worker's first look at the driver's file, or a copy of it. Raises `CannotLoad`."""
    here = look_at(path)
    if here != (found.size, found.changed_ns):
        require_same(path, found, identity_of(path))
    return here


def _replaced(path: Path, how: str) -> CannotLoad:
    was = "is not the file whose load began"
    return CannotLoad(f"{path.name} {was}: {how}; put the first one back, or begin another load")
