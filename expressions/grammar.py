"""PostgreSQL's grammar over texts of strangers: the one way to the C parser. No other module calls the parser or its
lexer.

The parser recurses once for each level of nesting, and a full C stack ends the process (`1+1+1..` of 44 kB did). So a
long text is read once, token by token, and refused when it may nest deeper than `NESTING_MAX`. The count is an upper
bound, which a test holds against the parser's own trees:

    1 + 1 + 1              each operator stands one level deeper than the next: they add up
    f(a + b, c || d)       a comma begins anew: the deepest part counts
    a = 1 AND b = 2        so do AND and OR, but for the AND of BETWEEN
    a JOIN b UNION c       joins and set operations nest across commas
    ( [ CASE               what is inside adds to what is outside

The lexer rereads a run of operator characters for each operator and comment that begins in it (`/*/*/*..` of a megabyte
took an hour), so long runs are refused too. Against a forgotten shape, the kernel ends the process after `PARSE_S_MAX`.
"""

import re
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import postgast
from google.protobuf.message import DecodeError
from postgast import pg_query_pb2 as pb

from expressions.errors import PROGRAM_LIMIT, STATEMENT_TOO_COMPLEX, SYNTAX_ERROR, SqlError

TEXT_BYTES_MAX = 2**20
SHORT = 4000
"""Characters that cannot nest deep enough to do harm, whatever they say."""
NESTING_MAX = 1000
ITEMS_MAX = 200_000
"""Commas, semicolons and subscripts in one text: their part of the tree is decoded in one go, which blocks the event
loop."""
RUN_MAX = 64
"""Operator characters in a row; PostgreSQL's longest operator has 63."""
COMMENTS_MAX = 100
"""Comments inside each other."""
LARGE_CHARS = 16_384
"""A longer text is parsed beside the event loop, and against a bound."""
PARSE_S_MAX = 10.0
"""Processor seconds of the process, all its threads together, in which a large text must have been parsed."""

TOO_DEEP = "the statement is nested too deeply"

_NAME = r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+"
_TAG = r"(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)?"
_OPERATOR = r"[~!@\#^&|`?+*/%<>=-]"
_TOKEN = re.compile(
    rf"""
      (?P<remark> --[^\n\r]*+)
    | (?P<comment> /\*)
    | (?P<run> (?:(?!--|/\*){_OPERATOR}){{{RUN_MAX + 1}}})
    | [eE]'(?:[^'\\]++|\\.|'')*+'?
    | '(?:[^']++|'')*+'?
    | "(?:[^"]++|"")*+"?
    | (?P<quote> \${_TAG}\$)
    | (?P<constants> ,(?:\s*+(?:-?[0-9.]++|'[^']*+')\s*+,)++)
    | \$[0-9]++
    | [0-9][0-9_.]*+
    | \.[0-9][0-9_]*+
    | (?P<word> {_NAME})
    | (?P<sign> [][(),;.:~!@#^&|`?+*/%<>=-])
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_RUN = re.compile(rf"{_OPERATOR}{{{RUN_MAX + 1},}}+", re.VERBOSE)

_CHAINS = frozenset("is isnull notnull collate at like ilike similar between in not operator overlaps".split())  # noqa: SIM905
_RELATIONS = frozenset(["join", "union", "intersect", "except"])
_SEPARATORS = frozenset(["or", "when", "then", "else", ",", ";"])
_OPENING, _CLOSING = frozenset(["(", "[", "case"]), frozenset([")", "]", "end"])
_ITEMS = frozenset([",", ";", "["])
_WORDS = _CHAINS | _RELATIONS | _SEPARATORS | {"and", "case", "end"}


def parse(sql: str) -> Any:
    """The parse tree. Raises `SqlError` (22021, 54000, 54001) for a text that no statement may be, and lets pass what
    the grammar itself refuses (`postgast.PgQueryError`).
    """
    if "\x00" in sql:
        raise SqlError("22021", 'invalid byte sequence for encoding "UTF8": 0x00')
    refuse_greedy(sql)
    try:
        return _bounded(postgast.parse, sql)
    except postgast.PgQueryError as error:
        if error.message.startswith("memory exhausted"):
            raise SqlError(STATEMENT_TOO_COMPLEX, TOO_DEEP, offset_of(error, sql)) from None
        raise
    except (DecodeError, RecursionError):
        raise SqlError(STATEMENT_TOO_COMPLEX, TOO_DEEP) from None


class Token(NamedTuple):
    """A word or sign: the bytes where it begins and ends, and its number in the grammar."""

    start: int
    end: int
    token: int


def tokens(sql: str) -> list[Token]:
    """The words and signs of a text, without comments, as values: keeping a million views of one message takes seconds.
    Raises as `parse` does."""
    refuse_greedy(sql)
    comments = (pb.SQL_COMMENT, pb.C_COMMENT)
    found = _bounded(postgast.scan, sql).tokens
    return [Token(one.start, one.end, kind) for one in found if (kind := one.token) not in comments]


def _bounded(read: Callable[[str], Any], sql: str) -> Any:
    """Calls the C parser: one large text at a time, and the process ends when one takes too long."""
    if len(sql) <= LARGE_CHARS:
        return read(sql)
    with _ONE_LARGE_TEXT:
        signal.setitimer(signal.ITIMER_VIRTUAL, PARSE_S_MAX)
        try:
            return read(sql)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)


_ONE_LARGE_TEXT = threading.Lock()


def offset_of(error: postgast.PgQueryError, sql: str) -> int:
    """The byte a syntax error is about; the grammar counts characters from 1."""
    return len(sql[: error.cursorpos - 1].encode()) if error.cursorpos else -1


def refuse_greedy(sql: str) -> None:
    """Raises 54000 or 54001 for a text that is too long, too rich or may be nested too deeply to be parsed, 42601 for a
    comment left open in a long one."""
    if len(sql) <= SHORT and _RUN.search(sql) is None:
        return
    size = len(sql.encode())
    if size > TEXT_BYTES_MAX:
        raise SqlError(PROGRAM_LIMIT, f"the statement has {size} bytes; the limit is {TEXT_BYTES_MAX}")
    if measured(sql)[0] > NESTING_MAX:
        raise _too_deep()


def _too_deep() -> SqlError:
    return SqlError(STATEMENT_TOO_COMPLEX, TOO_DEEP, hint=f"operators, joins and brackets: {NESTING_MAX} at most")


def _long_run(sql: str, place: int) -> SqlError:
    message = f"more than {RUN_MAX} operator characters in a row"
    return SqlError(PROGRAM_LIMIT, message, len(sql[:place].encode()), hint="put blanks between operators and comments")


@dataclass(slots=True)
class _Level:
    """A stretch between two brackets: relations add up over all of it, operators up to the next comma."""

    opening: str
    relations: int = 0
    operators: int = 0
    deepest: int = 0
    inner: int = 0
    betweens: int = 0

    def begin_anew(self) -> None:
        self.deepest = max(self.deepest, self.operators)
        self.operators = self.betweens = 0

    @property
    def depth(self) -> int:
        return 1 + self.relations + max(self.deepest, self.operators) + self.inner


@dataclass(slots=True)
class _Reading:
    levels: list[_Level] = field(default_factory=lambda: [_Level("")])
    deepest: int = 0
    items: int = 0

    def read(self, sql: str) -> None:
        place, is_qualified = 0, False
        while (found := _TOKEN.search(sql, place)) is not None:
            place, kind = found.end(), found.lastgroup
            if kind == "comment":
                place = _after_comment(sql, found.start())
            elif kind == "run":
                raise _long_run(sql, found.start())
            elif kind == "sign" and found[0] == ".":
                is_qualified = True  # the word behind it is a name, whichever it is
                continue
            elif kind == "sign":
                self._count(found[0])
            elif kind == "word" and not is_qualified and (word := found[0].lower()) in _WORDS:
                self._count(word)
            elif kind == "constants":
                self.items += found[0].count(",") - 1
                self._count(",")
            elif kind == "quote":
                end = sql.find(found[0], place)
                place = len(sql) if end < 0 else end + len(found[0])
            is_qualified = is_qualified and kind in ("comment", "remark")
            if self.items > ITEMS_MAX:
                message = f"the statement lists more than {ITEMS_MAX} items"
                raise SqlError(PROGRAM_LIMIT, message, hint="send it in parts")
            if len(self.levels) > NESTING_MAX:
                raise _too_deep()

    def _count(self, sign: str) -> None:
        level = self.levels[-1]
        self.items += sign in _ITEMS
        if sign in _OPENING:
            self.levels.append(_Level(sign))
        elif sign in _CLOSING:
            self._close(sign)
        elif sign in _RELATIONS:
            level.relations += 1
        elif sign == "and" and level.betweens:
            level.betweens -= 1
            level.operators += 1
        elif sign == "and" or sign in _SEPARATORS:
            level.begin_anew()
            if sign == ";" and len(self.levels) == 1:
                self.deepest = max(self.deepest, level.depth)
                self.levels = [_Level("")]
        else:
            level.operators += 1
            level.betweens += sign == "between"

    def _close(self, sign: str) -> None:
        """END ends a CASE, and is a name anywhere else; a bracket ends all that was opened since its own."""
        if sign == "end" and self.levels[-1].opening != "case":
            return
        while len(self.levels) > 1:
            level = self.levels.pop()
            self.levels[-1].inner = max(self.levels[-1].inner, level.depth)
            if sign == "end" or level.opening != "case":
                return

    def end(self) -> int:
        """The deepest that was met; what is still open stands inside each other."""
        while len(self.levels) > 1:
            level = self.levels.pop()
            self.levels[-1].inner = max(self.levels[-1].inner, level.depth)
        return max(self.deepest, self.levels[0].depth)


def measured(sql: str) -> tuple[int, int]:
    """A limit of how deep the text may nest, never less than it does; and the number of its commas."""
    reading = _Reading()
    reading.read(sql)
    return reading.end(), reading.items


def _after_comment(sql: str, place: int) -> int:
    """The place behind a comment that begins at a place, and may hold others. A frame of stars is one run."""
    depth, at = 0, place
    while (edge := _COMMENT_EDGE.search(sql, at)) is not None:
        at = edge.end()
        depth += 1 if edge[0] == "/*" else -1
        if not depth:
            return at
        if depth > COMMENTS_MAX:
            raise SqlError(STATEMENT_TOO_COMPLEX, TOO_DEEP, hint=f"comments in comments: {COMMENTS_MAX} at most")
        if edge[0] == "/*" and (run := _RUN.match(sql, edge.start())) is not None and "/*" in run[0][2:]:
            raise _long_run(sql, edge.start())
    raise SqlError(SYNTAX_ERROR, "unterminated /* comment", len(sql[:place].encode()))


def is_reserved(name: str) -> bool:
    """True for a word of the grammar that is no name unless it stands in quotes."""
    tokens = postgast.scan(name).tokens
    return any(token.keyword_kind not in _NAMES for token in tokens)


_NAMES = (pb.NO_KEYWORD, pb.UNRESERVED_KEYWORD)
