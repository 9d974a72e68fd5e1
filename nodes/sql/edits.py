"""Texts of users with some of their parts replaced: words, the names that WITH hides, and places led back. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import postgast
from postgast import pg_query_pb2 as pb

from expressions import grammar

Node = Any


@dataclass(frozen=True, slots=True)
class Replacement:
    """Bytes `start` to `end` of the user's text became `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Compiled:
    original: str
    text: str
    replacements: tuple[Replacement, ...]

    def position(self, position: int) -> int:
        """The character of the user's text that a character of the compiled one comes from; both count from 1. Any
        place within a replacement is the place of what was replaced."""
        at, shift = len(self.text[: position - 1].encode()), 0
        for replacement in self.replacements:
            begin = replacement.start + shift
            if at < begin:
                break
            size = len(replacement.text.encode())
            if at < begin + size:
                at, shift = replacement.start, 0
                break
            shift += size - (replacement.end - replacement.start)
        return len(self.original.encode()[: at - shift].decode(errors="ignore")) + 1


def edited(text: str, replacements: Iterable[Replacement]) -> Compiled:
    """The text with these replaced; what stands within another one goes with that."""
    done: list[Replacement] = []
    for one in sorted(replacements, key=lambda one: (one.start, one.end > one.start, -one.end)):
        if not done or one.start >= done[-1].end:
            done.append(one)
    source, pieces, at = text.encode(), [], 0
    for one in done:
        pieces += [source[at : one.start].decode(), one.text]
        at = one.end
    return Compiled(text, "".join([*pieces, source[at:].decode()]), tuple(done))


class Words:
    def __init__(self, text: str) -> None:
        self.source, self.tokens = text.encode(), grammar.tokens(text)
        if "uescape" in text.lower():
            self.tokens = _whole(self.tokens)
        self._starts = [token.start for token in self.tokens]
        self._words = [self.source[token.start : token.end].decode().lower() for token in self.tokens]

    def index(self, location: int) -> int:
        return bisect_right(self._starts, location) - 1

    def __getitem__(self, index: int) -> str:
        return self._words[index] if 0 <= index < len(self._words) else ""

    def brackets(self, index: int) -> tuple[int, int]:
        while self[index] != "(":
            index += 1
        first, depth = index, 0
        while True:
            depth += {"(": 1, ")": -1}.get(self[index], 0)
            if not depth:
                return first, index
            index += 1

    def after(self, index: int, word: str) -> int:
        """The place behind the first such word from a word on that stands outside of brackets."""
        depth = 0
        while depth or self[index] != word:
            depth += {"(": 1, ")": -1}.get(self[index], 0)
            index += 1
        return index + 1

    def blanked(self, cuts: Iterable[tuple[int, int]]) -> str:
        """The text with blanks in place of these words, first to last, so that all others stand where they did."""
        text = bytearray(self.source)
        for first, last in cuts:
            start, end = self.tokens[first].start, self.tokens[last].end
            text[start:end] = b" " * (end - start)
        return text.decode()

    def between(self, first: int, last: int) -> str:
        return self.source[self.tokens[first].end : self.tokens[last].start].decode()

    def replacement(self, first: int, last: int, text: str) -> Replacement:
        return Replacement(self.tokens[first].start, self.tokens[last].end, text)


def _whole(tokens: list[grammar.Token]) -> list[grammar.Token]:
    """Tokens in which U&".." UESCAPE '!' is one word."""
    found, kinds = list[grammar.Token](), (0, 0)
    for token in tokens:
        if pb.UESCAPE in (token.token, kinds[1]) and kinds[token.token == pb.UESCAPE] in (pb.UIDENT, pb.USCONST):
            found[-1] = found[-1]._replace(end=token.end)
        else:
            found.append(token)
        kinds = kinds[1], token.token
    return found


def in_brackets(text: str) -> tuple[str, int]:
    words = Words(text)
    first, last = words.brackets(0)
    return words.between(first, last), words.tokens[first].end


def text_of(expression: Node) -> str:
    tree = grammar.parse("SELECT 1")
    tree.stmts[0].stmt.select_stmt.target_list[0].res_target.val.CopyFrom(expression)
    return str(postgast.deparse(tree)).removeprefix("SELECT ")


def nodes_in_scope(root: Node, *, without: frozenset[str] = frozenset()) -> Iterator[tuple[Node, frozenset[str]]]:
    """Every node, with the names of WITH queries that it sees; `without` names fields that are left out."""
    pending: list[tuple[Node, frozenset[str]]] = [(root, frozenset())]
    while pending:
        node, names = pending.pop()
        yield node, names
        fields = node.ListFields()
        if node.DESCRIPTOR.name == "SelectStmt" and node.HasField("with_clause"):
            called = [item.common_table_expr.ctename for item in node.with_clause.ctes]
            for place, item in enumerate(node.with_clause.ctes):
                seen = called if node.with_clause.recursive else called[:place]
                pending.append((item.common_table_expr, names | set(seen)))
            names |= set(called)
            fields = [(field, value) for field, value in fields if field.name != "with_clause"]
        for field, value in fields:
            if field.message_type is not None and field.name not in without:
                pending += [(inner, names) for inner in (value if field.is_repeated else [value])]
