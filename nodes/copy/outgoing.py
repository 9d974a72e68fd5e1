"""COPY TO as the store is asked for it: the compiled query, and the options as the client words them. Pure.

COPY flights (id) TO STDOUT (FORMAT csv, HEADER)            of the client
COPY (SELECT id FROM (..) flights) TO STDOUT (FORMAT csv, HEADER)
"""

from collections.abc import Callable

from nodes.sql.edits import Compiled, Replacement, Words, edited
from nodes.sql.statements import Statement

BEFORE, AFTER = "COPY (", "\n) TO STDOUT "


def copy_text(statement: Statement, query: str, offset_of: Callable[[int], int]) -> tuple[str, Callable[[int], int]]:
    """The text that copies the rows of a query as a COPY says, and the byte of the client's for a character of it.

    `offset_of` gives that for a character of the query.
    """
    options, begin = _options(statement.text)
    first, end = len(BEFORE), len(BEFORE) + len(query) + len(AFTER)

    def offset(position: int) -> int:
        if position <= end:
            return offset_of(max(position - first, 1))
        return statement.start + begin + len(options.original[: options.position(position - end) - 1].encode())

    return f"{BEFORE}{query}{AFTER}{options.text}", offset


def _options(text: str) -> tuple[Compiled, int]:
    """The words behind STDOUT, and the byte where they begin. BINARY in front of a table goes there, and the old
    DELIMITERS has the name that a query's COPY knows."""
    words = Words(text)
    last = words.after(1, "to")
    begin = words.tokens[last].end
    given = words.source[begin:].decode()
    moved = [("FORMAT binary", "BINARY")] if words[1] == "binary" else []
    edits = list[Replacement]()
    old = last + 1 + (words[last + 1] == "using")
    if words[old] == "delimiters":
        constant = words.tokens[old + 1]
        moved.append((f"DELIMITER {words.source[constant.start : constant.end].decode()}",) * 2)
        edits.append(Replacement(words.tokens[last + 1].start - begin, constant.end - begin, ""))
        last = old + 1
    last += words[last + 1] == "with"
    is_list = words[last + 1] == "("
    at = words.tokens[last + is_list].end - begin
    text = "".join(f"{in_list}, " if is_list else f" {alone}" for in_list, alone in moved)
    return edited(given, [*edits, Replacement(at, at, text)]), begin
