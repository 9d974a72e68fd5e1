"""A statement's text and parse tree. A syntax error of the grammar counts characters from 1, as clients expect; the
location of a node counts bytes from 0, which `Source.where` converts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import postgast

from changes.ddl.actions import Name, Sql
from changes.ddl.errors import NOT_SUPPORTED, SYNTAX_ERROR, UNDEFINED_SCHEMA, DdlError, unsupported
from expressions import grammar
from expressions.errors import SqlError

Node = Any

MATCH_SIMPLE = "Leave it out: a row with a NULL among the columns refers to nothing."


class Source:
    def __init__(self, text: str) -> None:
        self.text, self.bytes = text, text.encode()
        self.notices: list[str] = []
        """What is taken, and does something else here than the words say."""
        self.warnings: list[str] = []
        """What PostgreSQL takes as something else than the words say, and warns of."""
        self._tokens: list[grammar.Token] | None = None

    def statements(self) -> list[Node]:
        try:
            return list(grammar.parse(self.text).stmts)
        except postgast.PgQueryError as error:
            raise refused_by_grammar(error) from error
        except SqlError as error:
            raise DdlError(error.sqlstate, error.message, position=self.where(error.offset), hint=error.hint) from error

    def where(self, byte: int) -> int | None:
        """The character (from 1) at a byte offset (from 0; negative: unknown)."""
        return None if byte < 0 else len(self.bytes[:byte].decode(errors="replace")) + 1

    def start_of(self, statement: Node) -> int | None:
        return next((self.where(t.start) for t in self.tokens() if t.start >= statement.stmt_location), None)

    def find(self, word: str, *, after: int = 0) -> int | None:
        """The position of an identifier whose node has no location."""
        return next((self.where(t.start) for t in self.tokens() if t.start >= after and self._is(t, word)), None)

    def find_each(self, words: Iterable[str], *, after: int = 0) -> tuple[int | None, ...]:
        found = []
        for word in words:
            token = next((t for t in self.tokens() if t.start >= after and self._is(t, word)), None)
            found.append(None if token is None else self.where(token.start))
            after = after if token is None else token.end
        return tuple(found)

    def find_last(self, word: str, *, after: int = 0) -> int | None:
        return next(
            (self.where(t.start) for t in reversed(self.tokens()) if t.start >= after and self._is(t, word)), None
        )

    def find_words(self, *words: str, after: int = 0) -> int | None:
        """The position of words in a row, as ON DELETE CASCADE."""
        tokens = [token for token in self.tokens() if token.start >= after]
        for at, token in enumerate(tokens):
            ahead = tokens[at : at + len(words)]
            if [self.bytes[one.start : one.end].lower() for one in ahead] == [word.encode() for word in words]:
                return self.where(token.start)
        return None

    def opening_of(self, after: int) -> int:
        """The byte of the first parenthesis at or after `after`; else `after`."""
        return next((t.start for t in self.tokens() if t.start >= after and self._is(t, "(")), after)

    def list_starts(self, *, after: int) -> list[int]:
        """The bytes at which the parts of a comma-separated list begin."""
        starts, depth, is_start = [], 0, True
        for token in (t for t in self.tokens() if t.start >= after):
            word = self.bytes[token.start : token.end]
            if is_start:
                starts.append(token.start)
            depth += (word == b"(") - (word == b")")
            is_start = word == b"," and depth == 0
        return starts

    def sql(self, node: Node) -> Sql:
        """The expression of a node. Raises `DdlError` when the grammar cannot print it."""
        kept = grammar.parse("SELECT NULL")
        kept.stmts[0].stmt.select_stmt.target_list[0].res_target.val.CopyFrom(node)
        try:
            text = str(postgast.deparse(kept))
        except postgast.PgQueryError as error:
            raise DdlError(NOT_SUPPORTED, error.message) from error
        return Sql(text.removeprefix("SELECT "), node, self.text)

    def tokens(self) -> list[grammar.Token]:
        if self._tokens is None:
            self._tokens = grammar.tokens(self.text)
        return self._tokens

    def _is(self, token: grammar.Token, word: str) -> bool:
        spelled = self.bytes[token.start : token.end].decode(errors="replace")
        if spelled.startswith('"'):
            return spelled[1:-1].replace('""', '"') == word
        return spelled.lower() == word


def refused_by_grammar(error: postgast.PgQueryError) -> DdlError:
    if error.message == "MATCH PARTIAL not yet implemented":
        return unsupported("MATCH PARTIAL", position=error.cursorpos or None, hint=MATCH_SIMPLE)
    return DdlError(SYNTAX_ERROR, error.message, position=error.cursorpos or None)


def relation(node: Node, source: Source, *, may_be_temporary: bool = False) -> Name:
    """A table's name. Raises `DdlError` for other schemas and kinds of tables."""
    position = source.where(node.location)
    if node.catalogname:
        raise unsupported("a database name before the table's", position=position)
    check_schema(node.schemaname, position)
    if node.relpersistence == "t" and not may_be_temporary:
        raise unsupported("a TEMPORARY table", position=position)
    if node.relpersistence == "u":
        source.notices.append(f'table "{node.relname}" is logged all the same: every table here survives a crash')
    return Name(node.relname, position)


def check_schema(schema: str, position: int | None) -> None:
    if schema not in ("", "public"):
        is_temporary = schema == "pg_temp"
        hint = "Name a temporary table without a schema." if is_temporary else "All tables are in the schema public."
        raise DdlError(UNDEFINED_SCHEMA, f'schema "{schema}" does not exist', position=position, hint=hint)
