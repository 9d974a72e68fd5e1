"""A descriptor: one immutable version of a table's schema, which a statement uses under a lease from begin to end."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from catalog.elements import (
    FOREIGN_KEY,
    NOT_NULL,
    REFERENCED,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Coordination,
    Derivation,
    Index,
    IndexColumn,
    IndexId,
    Placement,
    PlacementId,
    State,
    TableId,
)
from catalog.object_names import free_name, object_name
from catalog.values.types import SqlType

Json = dict[str, Any]
T = TypeVar("T")
FIRST_COLUMN = ColumnId(1)
FIRST_INDEX = IndexId(1)
FIRST_CONSTRAINT = ConstraintId(1)
FIRST_PLACEMENT = PlacementId(1)
SECOND_PLACEMENT = PlacementId(2)


class UnknownElement(LookupError):
    """A name or id that this version does not have."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    table_id: TableId
    name: str
    version: int
    columns: tuple[Column, ...]
    primary_key: tuple[ColumnId, ...]
    indexes: tuple[Index, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    placements: tuple[Placement, ...] = (Placement(FIRST_PLACEMENT),)
    state: State = State.PUBLIC
    next_column_id: ColumnId = FIRST_COLUMN
    next_index_id: IndexId = FIRST_INDEX
    next_constraint_id: ConstraintId = FIRST_CONSTRAINT
    coordination: Coordination = Coordination.LEASE
    next_placement_id: PlacementId = SECOND_PLACEMENT
    comment: str | None = None
    key_comment: str | None = None
    """Of the primary key, unless an index keeps it."""
    key_constraint: str | None = None
    """The primary key's name where it does not follow from the table's: it was taken, or the table was renamed."""
    _facts: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ids = {column.id for column in self.columns}
        assert self.primary_key, f"{self.name} has no primary key"
        assert ids.issuperset(self.primary_key), f"{self.name}: primary key without its column"
        assert all(ids.issuperset(index.column_ids) for index in self.indexes), f"{self.name}: index without its column"

    def fact(self, of: Callable[["Descriptor"], T]) -> T:
        """`of(self)`, computed once, since a version never changes."""
        try:
            found: T = self._facts[of]
        except KeyError:
            found = self._facts[of] = of(self)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its fields, without facts."""
        return _restored, tuple(getattr(self, f.name) for f in fields(self) if f.init)

    def column(self, column_id: ColumnId) -> Column:
        try:
            return self.fact(_columns_by_id)[column_id]
        except KeyError:
            raise UnknownElement(f"there is no column {column_id} of {self}") from None

    def column_named(self, name: str) -> Column:
        return _only((c for c in self.columns if c.name == name), f"column {name} of {self}")

    def index(self, index_id: IndexId) -> Index:
        try:
            return self.fact(_indexes_by_id)[index_id]
        except KeyError:
            raise UnknownElement(f"there is no index {index_id} of {self}") from None

    def index_named(self, name: str) -> Index:
        return _only((i for i in self.indexes if i.name == name), f"index {name} of {self}")

    def constraint(self, constraint_id: ConstraintId) -> Constraint:
        return _only((c for c in self.constraints if c.id == constraint_id), f"constraint {constraint_id} of {self}")

    @property
    def placement(self) -> Placement:
        return self.fact(_public_placement)

    @property
    def public_columns(self) -> tuple[Column, ...]:
        return self.fact(_public_columns)

    @property
    def public_indexes(self) -> tuple[Index, ...]:
        return self.fact(_public_indexes)

    @property
    def key_columns(self) -> tuple[Column, ...]:
        return self.fact(_key_columns)

    @property
    def has_hidden_key(self) -> bool:
        """True when rows are kept by hidden row ids: the table was made without a primary key."""
        return self.key_columns[0].is_hidden

    @property
    def declared_index(self) -> Index | None:
        """The public index that keeps the visible primary key of a table of hidden row ids."""
        return self.fact(_declared_index)

    @property
    def declared_key(self) -> tuple[ColumnId, ...]:
        """The columns of the visible primary key, in key order."""
        if not self.has_hidden_key:
            return self.primary_key
        return () if self.declared_index is None else self.declared_index.column_ids

    @property
    def key_name(self) -> str:
        return self.key_constraint or object_name(self.name, "", "pkey")

    def sequence_name(self, column: Column) -> str:
        return column.sequence or object_name(self.name, column.name, "seq")

    def not_null_name(self, column: Column) -> str:
        names = self.fact(_not_null_names)
        taken = {*names.values(), *_constraint_names(self)}
        return names.get(column.id) or free_name(self.name, [column.name], "not_null", taken.__contains__)

    @property
    def implied_relations(self) -> frozenset[str]:
        return self.fact(_implied_relations)

    def renamed(self, **names: Any) -> "Descriptor":
        """The same version with another name or columns: key, sequences and NOT NULLs keep their names."""
        new = replace(self, **names)
        before = {column.id: self.sequence_name(column) for column in self.columns}
        columns = tuple(
            replace(c, sequence=_unless(before[c.id], object_name(new.name, c.name, "seq"))) if c.identity else c
            for c in new.columns
        )
        bare = replace(new, columns=tuple(replace(c, not_null_constraint=None) for c in columns))
        rules, implied = self.fact(_not_null_names), _not_null_names(bare)
        columns = tuple(
            replace(c, not_null_constraint=_unless(rules[c.id], implied[c.id])) if c.id in rules else c for c in columns
        )
        key = _unless(self.key_name, object_name(new.name, "", "pkey"))
        return replace(new, columns=columns, key_constraint=key)

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """Columns with pairs: all but the primary key's."""
        return self.fact(_stored_columns)

    @property
    def foreign_keys(self) -> tuple[Constraint, ...]:
        return self.fact(_foreign_keys)

    @property
    def referenced_by(self) -> tuple[Constraint, ...]:
        return self.fact(_referenced_by)

    @property
    def sharding_key(self) -> tuple[ColumnId, ...]:
        """The columns that determine a row's bucket, where it is read."""
        return self.placement.sharding_key or self.primary_key

    @property
    def is_home_in_key(self) -> bool:
        """True when the primary key alone determines where a row is read."""
        return set(self.sharding_key) <= set(self.primary_key)

    def storage_count(self, first: int) -> int:
        """The most storages of any placement, in a cluster that began with `first`."""
        return max(placement.storage_count(first) for placement in self.placements)

    @property
    def key_guard(self) -> Index | None:
        """The unique index over the primary key's columns, if any, whose entry is in one place for all storages: where
        the primary key does not determine a row's storage, it keeps the key unique and serves foreign keys."""
        return self.fact(_key_guard)

    @property
    def key_guards(self) -> tuple[Index, ...]:
        """All unique indexes over the primary key's columns, in any state, the best first."""
        return self.fact(_key_guards)

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    def next_version(self, **changes: Any) -> "Descriptor":
        return replace(self, version=self.version + 1, **changes)

    def with_state(self, state: State) -> "Descriptor":
        return self.next_version(state=state)

    def with_index(self, index: Index) -> "Descriptor":
        assert index.id == self.next_index_id, f"index id {index.id} is not the next of {self}"
        return self.next_version(indexes=(*self.indexes, index), next_index_id=IndexId(index.id + 1))

    def with_index_state(self, index_id: IndexId, state: State, *, filling: bool = False) -> "Descriptor":
        changed = replace(self.index(index_id), state=state, filling=filling)
        return self.next_version(indexes=tuple(changed if i.id == index_id else i for i in self.indexes))

    def without_index(self, index_id: IndexId) -> "Descriptor":
        self.index(index_id)
        return self.next_version(indexes=tuple(i for i in self.indexes if i.id != index_id))

    def to_json(self) -> Json:
        return {
            "table_id": self.table_id,
            "name": self.name,
            "version": self.version,
            "state": self.state.value,
            "columns": [
                _element_json(
                    c,
                    type=c.type.value,
                    fill_value=None if c.fill_value is None else c.fill_value.hex(),
                    derived=None if c.derived is None else asdict(c.derived),
                )
                for c in self.columns
            ],
            "primary_key": list(self.primary_key),
            "indexes": [_element_json(i, columns=[asdict(part) for part in i.columns]) for i in self.indexes],
            "constraints": [
                _element_json(c, columns=list(c.columns), reference_columns=list(c.reference_columns))
                for c in self.constraints
            ],
            "placements": [_element_json(p, sharding_key=list(p.sharding_key)) for p in self.placements],
            "next_column_id": self.next_column_id,
            "next_index_id": self.next_index_id,
            "next_constraint_id": self.next_constraint_id,
            "next_placement_id": self.next_placement_id,
            "coordination": self.coordination.value,
            **{name: text for name, text in self._texts() if text is not None},
        }

    def _texts(self) -> tuple[tuple[str, str | None], ...]:
        return (("comment", self.comment), ("key_comment", self.key_comment), ("key_constraint", self.key_constraint))


def from_json(body: Mapping[str, Any]) -> Descriptor:
    return Descriptor(
        table_id=TableId(body["table_id"]),
        name=body["name"],
        version=body["version"],
        state=State(body["state"]),
        columns=tuple(_column(c) for c in body["columns"]),
        primary_key=tuple(ColumnId(c) for c in body["primary_key"]),
        indexes=tuple(
            Index(**i | {"columns": tuple(IndexColumn(**c) for c in i["columns"]), "state": State(i["state"])})
            for i in body["indexes"]
        ),
        constraints=tuple(_constraint(c) for c in body["constraints"]),
        placements=tuple(
            Placement(**p | {"sharding_key": tuple(p["sharding_key"]), "state": State(p["state"])})
            for p in body["placements"]
        ),
        next_column_id=ColumnId(body["next_column_id"]),
        next_index_id=IndexId(body["next_index_id"]),
        next_constraint_id=ConstraintId(body["next_constraint_id"]),
        coordination=Coordination(body["coordination"]),
        next_placement_id=PlacementId(body.get("next_placement_id", SECOND_PLACEMENT)),
        comment=body.get("comment"),
        key_comment=body.get("key_comment"),
        key_constraint=body.get("key_constraint"),
    )


def _restored(*values: Any) -> Descriptor:
    return Descriptor(*values)


# --- what follows from a version alone


def _columns_by_id(descriptor: Descriptor) -> dict[ColumnId, Column]:
    return {column.id: column for column in descriptor.columns}


def _indexes_by_id(descriptor: Descriptor) -> dict[IndexId, Index]:
    return {index.id: index for index in descriptor.indexes}


def _public_placement(descriptor: Descriptor) -> Placement:
    return _only((p for p in descriptor.placements if p.state is State.PUBLIC), f"public placement of {descriptor}")


def _public_columns(descriptor: Descriptor) -> tuple[Column, ...]:
    return tuple(c for c in descriptor.columns if c.state is State.PUBLIC and not c.is_hidden)


def _public_indexes(descriptor: Descriptor) -> tuple[Index, ...]:
    return tuple(i for i in descriptor.indexes if i.state is State.PUBLIC)


def _key_columns(descriptor: Descriptor) -> tuple[Column, ...]:
    return tuple(descriptor.column(column_id) for column_id in descriptor.primary_key)


def _stored_columns(descriptor: Descriptor) -> tuple[Column, ...]:
    return tuple(c for c in descriptor.columns if c.id not in descriptor.primary_key)


def _declared_index(descriptor: Descriptor) -> Index | None:
    return next((index for index in descriptor.public_indexes if index.primary), None)


def _key_guard(descriptor: Descriptor) -> Index | None:
    return next(iter(descriptor.key_guards), None)


def _key_guards(descriptor: Descriptor) -> tuple[Index, ...]:
    key = set(descriptor.primary_key)
    guards = [i for i in descriptor.indexes if i.unique and i.where is None and set(i.column_ids) == key]
    return tuple(sorted(guards, key=lambda index: (index.state is not State.PUBLIC, index.id)))


def _constraint_names(descriptor: Descriptor) -> set[str]:
    own = {one.name for one in descriptor.constraints if one.rule not in (NOT_NULL, REFERENCED)}
    return own | {index.name for index in descriptor.indexes if index.unique} | {descriptor.key_name}


def _not_null_names(descriptor: Descriptor) -> dict[ColumnId, str]:
    names = {c.id: c.not_null_constraint for c in descriptor.columns if c.not_null and c.not_null_constraint}
    taken = {*_constraint_names(descriptor), *names.values()}
    for column in descriptor.columns:
        if column.not_null and not column.is_hidden and column.id not in names:
            names[column.id] = free_name(descriptor.name, [column.name], "not_null", taken.__contains__)
            taken.add(names[column.id])
    return names


def _implied_relations(descriptor: Descriptor) -> frozenset[str]:
    sequences = {descriptor.sequence_name(c) for c in descriptor.columns if c.identity and not c.is_hidden}
    return frozenset(sequences if descriptor.has_hidden_key else sequences | {descriptor.key_name})


def _unless(name: str, implied: str) -> str | None:
    return None if name == implied else name


def _foreign_keys(descriptor: Descriptor) -> tuple[Constraint, ...]:
    return tuple(c for c in descriptor.constraints if c.rule == FOREIGN_KEY)


def _referenced_by(descriptor: Descriptor) -> tuple[Constraint, ...]:
    return tuple(c for c in descriptor.constraints if c.rule == REFERENCED)


# --- JSON


def _only(found: Iterable[T], what: str) -> T:
    for element in found:
        return element
    raise UnknownElement(f"there is no {what}")


LEFT_OUT: Json = {"primary": False, "comment": None, "constraint_comment": None, "is_constraint": False,
                  "identity_start": 1, "identity_generation": 1, "place_of": None, "sequence": None,
                  "not_null_constraint": None}  # fmt: skip
"""Fields that stand in JSON only where they are otherwise: hashes of older versions stay the same."""


NAMES = {of: tuple(one.name for one in fields(of)) for of in (Column, Index, Constraint, Placement)}
"""The names of an element's fields: a table may have 1,600 columns."""


def _element_json(element: Column | Index | Constraint | Placement, **otherwise: Any) -> Json:
    body = {name: getattr(element, name) for name in NAMES[type(element)]}
    body = {name: value for name, value in body.items() if name not in LEFT_OUT or value != LEFT_OUT[name]}
    return body | {"state": element.state.value} | otherwise


def _column(body: Json) -> Column:
    fill_value = None if body["fill_value"] is None else bytes.fromhex(body["fill_value"])
    derived = None if body["derived"] is None else Derivation(**body["derived"])
    read = {"type": SqlType(body["type"]), "state": State(body["state"]), "fill_value": fill_value, "derived": derived}
    return Column(**body | read)


def _constraint(body: Json) -> Constraint:
    columns, references = tuple(body["columns"]), tuple(body["reference_columns"])
    return Constraint(**body | {"columns": columns, "reference_columns": references, "state": State(body["state"])})
