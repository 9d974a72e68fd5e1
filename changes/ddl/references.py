"""Reads FOREIGN KEY .. REFERENCES with NO ACTION or RESTRICT. A cascade would write rows of another table under a
version that the statement's node may not have. DEFERRABLE gives a notice: rows are checked when a statement ends, which
refuses some that PostgreSQL would accept at COMMIT, and accepts none that it would refuse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.elements import NO_ACTION, RESTRICT
from changes.ddl.actions import UNNAMED, Name, NewForeignKey
from changes.ddl.errors import check_key_width, unsupported
from changes.ddl.source import MATCH_SIMPLE, Source, relation

Node = Any

JUDGED_AT_ONCE = "DEFERRABLE changes nothing: each statement is held against foreign keys when it ends, not at COMMIT"
ACTIONS = {"a": NO_ACTION, "r": RESTRICT}
REFUSED_ACTIONS = {"c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}


def read_foreign_key(constraint: Node, source: Source, *, column: Name | None = None) -> NewForeignKey:
    """Reads a foreign key; `column` is the one it stands behind. Raises `DdlError`."""
    after = max(constraint.location, 0)
    if constraint.fk_matchtype == "f":
        raise unsupported("MATCH FULL", position=source.find_words("match", "full", after=after), hint=MATCH_SIMPLE)
    if constraint.fk_with_period or constraint.pk_with_period:
        raise unsupported("PERIOD", position=source.find("period", after=after), hint="Leave it out.")
    verified = "The rows that are there are verified while writes go on: leave it out."
    if not constraint.is_enforced:
        raise unsupported("NOT ENFORCED", position=source.find_words("not", "enforced", after=after), hint=verified)
    if constraint.skip_validation:
        raise unsupported("NOT VALID", position=source.find_words("not", "valid", after=after), hint=verified)
    check_key_width(len(constraint.fk_attrs), source.where(constraint.location), "columns in a foreign key")
    references = relation(constraint.pktable, source)
    behind = source.opening_of(max(constraint.pktable.location, 0))
    own = _columns(constraint.fk_attrs, source, source.opening_of(after))
    name = Name(constraint.conname, source.find(constraint.conname, after=after)) if constraint.conname else UNNAMED
    if constraint.deferrable or constraint.initdeferred:
        source.notices.append(JUDGED_AT_ONCE)
    return NewForeignKey(
        name,
        own or (() if column is None else (column,)),
        references,
        _columns(constraint.pk_attrs, source, behind),
        on_delete=_action(constraint.fk_del_action, "DELETE", source, after),
        on_update=_action(constraint.fk_upd_action, "UPDATE", source, after),
        position=source.where(constraint.location),
    )


def _columns(items: Iterable[Node], source: Source, after: int) -> tuple[Name, ...]:
    words = [item.string.sval for item in items]
    return tuple(map(Name, words, source.find_each(words, after=after)))


def _action(letter: str, of: str, source: Source, after: int) -> str:
    if letter in REFUSED_ACTIONS:
        clause = f"ON {of} {REFUSED_ACTIONS[letter]}"
        hint = "Write NO ACTION or RESTRICT, and let the application change the rows that refer, in one transaction."
        raise unsupported(clause, position=source.find_words(*clause.lower().split(), after=after), hint=hint)
    return ACTIONS[letter]
