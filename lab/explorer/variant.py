"""A built-in model by its name, and the ways in which elements are added and dropped."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.elements import Kind
from lab.explorer.model import Model, Stage, stage_named
from lab.explorer.rules_left_out import Broken

UP: dict[Kind, str] = {
    kind: ",".join(state.value for state in kind.facts.ladder)
    for kind in Kind
    if kind not in (Kind.DERIVED_COLUMN, Kind.PLACEMENT)
}
"""How each kind is added (section 4); it is dropped through the same states."""

RESHARD = "public+absent,public+delete-only,public+write-only,write-only+public,delete-only+public,absent+public"
DROP_INDEX = "public,write-only,delete-only,absent"


@dataclass(frozen=True, slots=True)
class Variant:
    """`breaks`: the clause that is expected to break first, "" for a proof; for a pair, all that may break."""

    name: str
    section: str
    model: Model
    breaks: str = ""
    note: str = ""


FOREIGN_KEY_UP = "absent+absent,write-only+write-only,public+public"
"""A foreign key stands in both its tables, in the same state in all versions that are published together (L11)."""


def stages(text: str) -> tuple[Stage, ...]:
    return tuple(stage_named(stage) for stage in text.split(","))


ADDED: Mapping[Kind, str] = {
    Kind.TABLE: "CREATE TABLE t (id bigint PRIMARY KEY, a bigint)",
    Kind.OPTIONAL_COLUMN: "ALTER TABLE t ADD COLUMN a bigint",
    Kind.REQUIRED_COLUMN: "ALTER TABLE t ADD COLUMN a bigint DEFAULT 11",
    Kind.INDEX: "CREATE INDEX by_a ON t (a)",
    Kind.UNIQUE_INDEX: "CREATE UNIQUE INDEX by_a ON t (a)",
    Kind.CONSTRAINT: "ALTER TABLE t ALTER COLUMN a SET NOT NULL",
}
DROPPED: Mapping[Kind, str] = {
    Kind.TABLE: "DROP TABLE t",
    Kind.OPTIONAL_COLUMN: "ALTER TABLE t DROP COLUMN a",
    Kind.REQUIRED_COLUMN: "ALTER TABLE t DROP COLUMN a",
    Kind.INDEX: "DROP INDEX by_a",
    Kind.UNIQUE_INDEX: "DROP INDEX by_a",
    Kind.CONSTRAINT: "ALTER TABLE t ALTER COLUMN a DROP NOT NULL",
}


def up_and_down(name: str, kind: Kind, add: str, drop: str, **options: Any) -> Iterator[Variant]:
    up = stages(UP[kind])
    suffix = name.replace(" ", "-")
    yield Variant(f"add-{suffix}", "4", Model(kind, up, statement=add, **options))
    yield Variant(f"drop-{suffix}", "4", Model(kind, tuple(reversed(up)), statement=drop, **options))


def foreign_key(*stages: Stage, broken: frozenset[Broken] = frozenset(), **options: Any) -> Model:
    return Model(Kind.CONSTRAINT, stages, broken, foreign_key=True, **options)
