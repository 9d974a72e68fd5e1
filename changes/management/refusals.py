"""A refused statement in a terminal, with a caret. Exit code 2: the statement is wrong; 1: the cluster refuses it
now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import CommandError

from changes.ddl.errors import DUPLICATE_COLUMN, DUPLICATE_OBJECT, DUPLICATE_TABLE, NOT_READY, DdlError
from changes.ddl.resolve import NothingToDo
from changes.services import ChangeError
from changes.submission.rate_limits import TooFast

NEWLINE = "\n"
STANDS_AGAINST_IT = frozenset({DUPLICATE_TABLE, DUPLICATE_COLUMN, DUPLICATE_OBJECT, NOT_READY})
"""Refusals of a statement that is well formed: what the cluster has stands against it."""


def caret(statement: str, position: int) -> str:
    """The line with character `position` (from 1), and a caret under it."""
    before, line_and_after = statement[: position - 1], statement[position - 1 :]
    start = before.rpartition("\n")[2]
    line = start + line_and_after.partition("\n")[0]
    label = f"LINE {before.count(NEWLINE) + 1}: "
    return f"{label}{line}\n{' ' * (len(label) + len(start))}^"


def in_words(error: DdlError, statement: str) -> str:
    lines = [f"{error.message} (SQLSTATE {error.sqlstate})"]
    if error.position is not None:
        lines.append(caret(statement, error.position))
    if error.hint:
        lines.append(f"HINT: {error.hint}")
    return "\n".join(lines)


def exit_code(error: DdlError) -> int:
    return 1 if isinstance(error, TooFast) or error.sqlstate in STANDS_AGAINST_IT else 2


@contextmanager
def refusals(statement: str = "") -> Iterator[None]:
    try:
        yield
    except DdlError as error:
        raise CommandError(in_words(error, statement), returncode=exit_code(error)) from error
    except (ChangeError, NothingToDo) as error:
        raise CommandError(str(error), returncode=1) from error


def statement_of(given: str | None, file: str | None) -> str:
    """The statement of the command line or of a file, exactly one of them."""
    if (given is None) == (file is None):
        raise CommandError("give one statement, in quotes or with --file", returncode=2)
    if given is not None:
        return given
    try:
        return Path(str(file)).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}", returncode=2) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"cannot read {file}: it is no text in UTF-8 ({error.reason})", returncode=2) from error
