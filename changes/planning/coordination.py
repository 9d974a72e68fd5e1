"""Changes how nodes agree on the version of a table: lease, both, hash, one version for each step, drained before the
next. Neighbouring versions share a protection that bounds nodes which know only the older: towards `hash` the
predecessor is leased, towards `lease` its fence is moved at once. Nothing moves in the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import Coordination, Kind
from catalog.text.sentence import Sentence
from changes.ddl.actions import SetCoordination
from changes.plan.model import Element, Move, MoveKind
from changes.planning.draft import Sketch

WARNINGS = {
    Coordination.HASH: (
        "Nobody leases {name} any more: a node may use an old version until a storage refuses it, and a statement in a"
        " transaction block then ends in 40001."
    ),
    Coordination.BOTH: "A node that has not heard of a new version of {name} is refused, and tries again.",
}


def set_coordination(sketch: Sketch, action: SetCoordination) -> None:
    table, new = sketch.base, action.coordination
    steps = table.coordination.steps_to(new)
    if not steps:
        sketch.notices.append(f"coordination of {table.name} is {new.value} already, skipping")
        return
    sketch.edits.append(_to(steps[0]))
    sketch.later_edits = tuple(map(_to, steps[1:]))
    sketch.moves.append(Move(Element(Kind.TABLE, table.table_id, table.name), MoveKind.ALTER))
    if new in WARNINGS:
        sketch.dangers.append(Sentence(WARNINGS[new], name=table.name))


def _to(coordination: Coordination) -> Callable[[Descriptor], Descriptor]:
    return lambda table: replace(table, coordination=coordination)
