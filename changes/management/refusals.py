"""How a refused statement looks in a terminal: the sentence, the line, and a caret under the word that is meant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import CommandError

from changes.ddl_check import NothingToDo
from changes.ddl_errors import DdlError
from changes.services import ChangeError

NEWLINE = "\n"


def caret(statement: str, position: int) -> str:
    """The line of `statement` that character `position` (from 1) stands in, and a caret under it."""
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


@contextmanager
def refusals(statement: str = "") -> Iterator[None]:
    """What is refused ends the command with 1 and says why."""
    try:
        yield
    except DdlError as error:
        raise CommandError(in_words(error, statement), returncode=1) from error
    except (ChangeError, NothingToDo) as error:
        raise CommandError(str(error), returncode=1) from error


def statement_of(given: str | None, file: str | None) -> str:
    """The statement of the command line, or of a file; exactly one of the two."""
    if (given is None) == (file is None):
        raise CommandError("give one statement, in quotes or with --file", returncode=2)
    if given is not None:
        return given
    try:
        return Path(str(file)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot read {file}: {error}", returncode=2) from error
