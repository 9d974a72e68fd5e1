"""Reads CHECK, UNIQUE and FOREIGN KEY; refuses other constraints by name."""

from __future__ import annotations

from typing import Any

from changes.ddl.actions import UNNAMED, Name, NewCheck, NewForeignKey, NewUnique
from changes.ddl.errors import DdlError, check_key_width, unsupported
from changes.ddl.references import read_foreign_key
from changes.ddl.source import Source

Node = Any

REFUSED = {
    "CONSTR_EXCLUSION": ("EXCLUDE", "Use UNIQUE, or let the application look in the same transaction."),
    "CONSTR_GENERATED": ("a generated column", "Let the application write the value, or compute it in the query."),
}


def kind_of(constraint: Node) -> str:
    return str(constraint.DESCRIPTOR.fields_by_name["contype"].enum_type.values_by_number[constraint.contype].name)


def refuse_constraint(constraint: Node, source: Source) -> DdlError:
    what, hint = REFUSED.get(kind_of(constraint), ("DEFERRABLE, INITIALLY or ENFORCED", "Leave it out."))
    return unsupported(what, position=source.where(constraint.location), hint=hint)


NewConstraint = NewCheck | NewUnique | NewForeignKey


def read_constraint(constraint: Node, source: Source, *, column: Name | None = None) -> NewConstraint:
    """Reads a constraint; `column` is the one it stands behind. Raises `DdlError`."""
    kind = kind_of(constraint)
    if kind == "CONSTR_FOREIGN":
        return read_foreign_key(constraint, source, column=column)
    if kind not in ("CONSTR_CHECK", "CONSTR_UNIQUE", "CONSTR_PRIMARY"):
        raise refuse_constraint(constraint, source)
    position = source.where(constraint.location)
    _refuse_clauses(constraint, position)
    after = max(constraint.location, 0)
    name = Name(constraint.conname, source.find(constraint.conname, after=after)) if constraint.conname else UNNAMED
    if kind == "CONSTR_CHECK":
        return NewCheck(name, source.sql(constraint.raw_expr), position)
    words = [item.string.sval for item in constraint.keys]
    check_key_width(len(words), position)
    keys = tuple(Name(word, source.find(word, after=after)) for word in words) or (() if column is None else (column,))
    return NewUnique(name, keys, position, primary=kind == "CONSTR_PRIMARY")


def _refuse_clauses(constraint: Node, position: int | None) -> None:
    clauses = {
        "NOT VALID": constraint.skip_validation,
        "NO INHERIT": constraint.is_no_inherit,
        "DEFERRABLE": constraint.deferrable or constraint.initdeferred,
        "NULLS NOT DISTINCT": constraint.nulls_not_distinct,
        "INCLUDE": bool(constraint.including),
        "a constraint WITH options": bool(constraint.options),
        "USING INDEX": bool(constraint.indexname),
        "WITHOUT OVERLAPS": constraint.without_overlaps,
    }
    hints = {"NOT VALID": "The rows that are there are verified while writes go on: leave it out."}
    for clause, is_there in clauses.items():
        if is_there:
            raise unsupported(clause, position=position, hint=hints.get(clause, "Leave it out."))
