"""SQL that alters the shadow in place, so that oids stay: drops by old names, renames, adds by new names. A column that
is added again stands last in PostgreSQL, so those behind it are added again, with what depends on them. A default,
identity, index or constraint that PostgreSQL refuses is left out. Relations are named with their schema, as one of
pg_catalog may have the same name."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from catalog.text.sql_names import literal, quoted
from storage.shadow.shown import (
    INDEX,
    PRIMARY,
    UNIQUE,
    ShownCheck,
    ShownColumn,
    ShownKey,
    ShownReference,
    ShownTable,
    ShownView,
    relation,
)

OWNER = "schemalab_shown"
"""The role that owns what is shown, and that catalog queries run as."""

Tables = Mapping[int, ShownTable]


@dataclass(frozen=True, slots=True)
class Known:
    revision: int
    name: str


DEFAULT, IDENTITY, KEY, CHECK, REFERENCE = "default", "identity", "index", "check", "foreign key"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part that can be left out: its kind, and the number of its column or its own."""

    table_id: int
    kind: str
    number: int
    name: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """A statement; of a `piece`, `otherwise` is what remains after a failure."""

    sql: str
    piece: Piece | None = None
    otherwise: str = ""


def script(steps: Iterable[Step]) -> list[str]:
    return [step.sql if step.piece is None else f"DO {literal(_or_nothing(step))}" for step in steps]


def _or_nothing(step: Step) -> str:
    otherwise = f"EXECUTE {literal(step.otherwise)}" if step.otherwise else "NULL"
    return f"BEGIN EXECUTE {literal(step.sql)}; EXCEPTION WHEN others THEN {otherwise}; END"


def without(table: ShownTable, pieces: Collection[Piece]) -> ShownTable:
    lacking = {(piece.kind, piece.number) for piece in pieces}

    def left(column: ShownColumn) -> ShownColumn:
        default = None if (DEFAULT, column.number) in lacking else column.default
        numbers = None if (IDENTITY, column.number) in lacking else column.numbers
        return replace(column, default=default, numbers=numbers)

    return replace(
        table,
        columns=tuple(left(column) for column in table.columns),
        keys=tuple(key for key in table.keys if (KEY, key.id) not in lacking),
        checks=tuple(check for check in table.checks if (CHECK, check.id) not in lacking),
        references=tuple(one for one in table.references if (REFERENCE, one.id) not in lacking),
    )


@dataclass(frozen=True)
class Pair:
    old: ShownTable
    new: ShownTable

    @property
    def kept(self) -> frozenset[int]:
        """Numbers of columns that stay: the first ones in the same order."""
        there, kept = {column.number for column in self.old.columns}, []
        for column in self.new.columns:
            if column.number not in there:
                break
            kept.append(column.number)
        return frozenset(kept)

    @property
    def unsteady(self) -> frozenset[int]:
        """Numbers of columns that end, are added again or get another type."""
        kept = self.kept
        types = {column.number: column.type for column in self.new.columns}
        return frozenset(
            column.number
            for column in self.old.columns
            if column.number not in kept or types[column.number] != column.type
        )


@dataclass(frozen=True, slots=True)
class Rename:
    """The beginning of an ALTER, old and new name, and the piece it is of."""

    begins: str
    old: str
    new: str
    piece: Piece | None = None


@dataclass
class Alters:
    old: Tables
    new: Tables
    had: Mapping[int, Known]
    views: Sequence[ShownView]
    going: list[str] = field(default_factory=list)
    renames: list[Rename] = field(default_factory=list)
    """Of relations, which have one space of names."""
    coming: list[Step] = field(default_factory=list)
    later: list[Step] = field(default_factory=list)
    """What needs keys of other tables."""
    made: list[tuple[ShownView, bool]] = field(default_factory=list)
    """The views to be made after all that, and whether each is a new one."""

    def __post_init__(self) -> None:
        self.pairs = {i: Pair(self.old[i], new) for i, new in self.new.items() if i in self.old}
        self.unsteady = {i: pair.unsteady for i, pair in self.pairs.items()}

    def steps(self) -> list[Step]:
        made, dropped = self._views()
        if dropped:
            self.going.append(f"DROP VIEW {', '.join(relation(self.had[i].name) for i in dropped)}")
        inner: list[Step] = []
        for pair in self.pairs.values():
            self._references(pair)
        for table_id, pair in self.pairs.items():
            inner += self._altered(pair, self.unsteady[table_id])
        for table_id, table in self.old.items():
            if table_id not in self.new:
                self.going += [f"ALTER TABLE {table.relation()} DROP CONSTRAINT {quoted(one.name)}"
                               for one in table.references]  # fmt: skip
        ended = [table.relation() for table_id, table in self.old.items() if table_id not in self.new]
        self.going += [f"DROP TABLE {', '.join(ended)}"] if ended else []
        for table_id, table in self.new.items():
            if table_id not in self.old:
                self._created(table)
        self.made = made
        changes = [*inner, *self.coming, *self.later]
        needed = [step for step in changes if step.piece is None]
        pieces = [step for step in changes if step.piece is not None]  # last: a table comes before an index of its name
        return [*map(Step, self.going), *_renamed(self.renames), *needed, *pieces]

    # -- tables --------------------------------------------------------------------------------------------------

    def _created(self, table: ShownTable) -> None:
        name = table.relation()
        columns = ", ".join(self._defined(column) for column in table.columns)
        self.coming += [Step(f"CREATE TABLE {name} ({columns})"), Step(f"ALTER TABLE {name} OWNER TO {OWNER}")]
        self.coming += _commented(f"TABLE {name}", None, table.comment)
        for column in table.columns:
            self.coming += [*_with_default(table, column), *_with_numbers(table, column)]
            self.coming += _commented(f"COLUMN {name}.{quoted(column.name)}", None, column.comment)
        for key in table.keys:
            self._add_key(table, key)
        for check in table.checks:
            self._add_check(table, check)
        for reference in table.references:
            self._add_reference(table, reference)

    def _altered(self, pair: Pair, unsteady: frozenset[int]) -> list[Step]:
        old, new, was, name = pair.old, pair.new, pair.old.relation(), pair.new.relation()
        if old.name != new.name:
            self.renames.append(Rename("ALTER TABLE", old.name, new.name))
        self._checks(pair, unsteady)
        self._keys(pair, unsteady)
        for column in old.columns:
            if column.number not in pair.kept:
                self.going.append(f"ALTER TABLE {was} DROP COLUMN {quoted(column.name)}")
        kept = [(old.column(column.number), column) for column in new.columns if column.number in pair.kept]
        for before, after in kept:
            if before.numbers is None:
                continue
            if _has_other_numbers(before, after):
                self.going.append(f"ALTER TABLE {was} ALTER COLUMN {quoted(before.name)} DROP IDENTITY")
            elif after.numbers is not None:
                self._rename("ALTER SEQUENCE", before.numbers.sequence, after.numbers.sequence)
        renames = [Rename(f"ALTER TABLE {name} RENAME COLUMN", b.name, a.name) for b, a in kept if b.name != a.name]
        inner = _renamed(renames)
        for before, after in kept:
            inner += self._column(new, before, after)
        for column in new.columns:
            if column.number not in pair.kept:
                inner.append(Step(f"ALTER TABLE {name} ADD COLUMN {self._defined(column)}"))
                inner += [*_with_default(new, column), *_with_numbers(new, column)]
        for column in new.columns:
            before_comment = old.column(column.number).comment if column.number in pair.kept else None
            inner += _commented(f"COLUMN {name}.{quoted(column.name)}", before_comment, column.comment)
        return inner + _commented(f"TABLE {name}", old.comment, new.comment)

    def _defined(self, column: ShownColumn) -> str:
        required = "" if column.required is None else f" CONSTRAINT {quoted(column.required)} NOT NULL"
        return f"{quoted(column.name)} {column.type}{required}"

    def _column(self, table: ShownTable, old: ShownColumn, new: ShownColumn) -> Iterator[Step]:
        alter = _alter_column(table, new)
        is_anew = old.type != new.type
        if old.default is not None and (is_anew or new.default != old.default):
            yield Step(f"{alter} DROP DEFAULT")
        if is_anew:
            yield Step(f"{alter} TYPE {new.type} USING NULL::{new.type}")
        if is_anew or old.default != new.default:
            yield from _with_default(table, new)
        yield from map(Step, self._nullability(table.relation(), alter, old, new))
        if new.numbers is not None and _has_other_numbers(old, new):
            yield from _with_numbers(table, new)
        elif old.numbers is not None and new.numbers is not None:
            if old.numbers.always != new.numbers.always:
                yield Step(f"{alter} SET GENERATED {'ALWAYS' if new.numbers.always else 'BY DEFAULT'}")
            if old.numbers.start != new.numbers.start:
                yield Step(f"{alter} SET START WITH {new.numbers.start}")

    def _nullability(self, table: str, alter: str, old: ShownColumn, new: ShownColumn) -> Iterator[str]:
        if new.required is None:
            if old.required is not None:
                yield f"{alter} DROP NOT NULL"
        elif old.required is None:
            yield f"ALTER TABLE {table} ADD CONSTRAINT {quoted(new.required)} NOT NULL {quoted(new.name)}"
        elif old.required != new.required:
            yield f"ALTER TABLE {table} RENAME CONSTRAINT {quoted(old.required)} TO {quoted(new.required)}"

    # -- what depends on columns -----------------------------------------------------------------------------------

    def _keys(self, pair: Pair, unsteady: frozenset[int]) -> None:
        old = {key.id: key for key in pair.old.keys}
        kept = {key.id for key in pair.new.keys if key.id in old and _same_key(old[key.id], key, unsteady)}
        for key in pair.old.keys:
            if key.id not in kept:
                self.going.append(
                    f"DROP INDEX {relation(key.name)}" if key.kind == INDEX else _drop_constraint(pair.old, key.name)
                )
        for key in pair.new.keys:
            if key.id not in kept:
                self._add_key(pair.new, key)
                continue
            before = old[key.id]
            piece = _piece_of(pair.new, key)
            self._rename("ALTER INDEX", before.name, key.name, piece)
            if before.kind != key.kind:
                word = "PRIMARY KEY" if key.kind == PRIMARY else "UNIQUE"
                begins = f"ALTER TABLE {pair.new.relation()} ADD CONSTRAINT {quoted(key.name)}"
                self.coming.append(Step(f"{begins} {word} USING INDEX {quoted(key.name)}", piece, _undone(key.name)))
            self._comment_key(pair.new, before.comment, before.constraint_comment, key)

    def _add_key(self, table: ShownTable, key: ShownKey) -> None:
        name = quoted(key.name)
        columns = ", ".join(
            quoted(table.column(number).name) + (" DESC" if descending else "") for number, descending in key.columns
        )
        if key.kind == INDEX:
            where = "" if key.condition is None else f" WHERE ({key.condition})"
            unique = "UNIQUE " if key.unique else ""
            made = f"CREATE {unique}INDEX {name} ON {table.relation()} ({columns}){where}"
        else:
            word = "PRIMARY KEY" if key.kind == PRIMARY else "UNIQUE"
            made = f"ALTER TABLE {table.relation()} ADD CONSTRAINT {name} {word} ({columns})"
        self.coming.append(Step(made, _piece_of(table, key)))
        self._comment_key(table, None, None, key)

    def _comment_key(self, table: ShownTable, comment: str | None, of_rule: str | None, key: ShownKey) -> None:
        piece = _piece_of(table, key)
        self.coming += _commented(f"INDEX {table.relation(key.name)}", comment, key.comment, piece)
        if key.kind != INDEX:
            on = f"CONSTRAINT {quoted(key.name)} ON {table.relation()}"
            self.coming += _commented(on, of_rule, key.constraint_comment, piece)

    def _checks(self, pair: Pair, unsteady: frozenset[int]) -> None:
        old = {check.id: check for check in pair.old.checks}
        kept = {
            check.id
            for check in pair.new.checks
            if check.id in old and old[check.id].kept == check.kept and not check.reads & unsteady
        }
        self.going += [_drop_constraint(pair.old, check.name) for check in pair.old.checks if check.id not in kept]
        for check in pair.new.checks:
            if check.id in kept:
                self.coming += map(Step, _renamed_constraint(pair.new, old[check.id].name, check.name))
                on = f"CONSTRAINT {quoted(check.name)} ON {pair.new.relation()}"
                self.coming += _commented(on, old[check.id].comment, check.comment)
            else:
                self._add_check(pair.new, check)

    def _add_check(self, table: ShownTable, check: ShownCheck) -> None:
        name = quoted(check.name)
        piece = Piece(table.table_id, CHECK, check.id, check.name)
        made = f"ALTER TABLE {table.relation()} ADD CONSTRAINT {name} CHECK ({check.condition})"
        self.coming.append(Step(made, piece))
        self.coming += _commented(f"CONSTRAINT {name} ON {table.relation()}", None, check.comment, piece)

    def _references(self, pair: Pair) -> None:
        old = {one.id: one for one in pair.old.references}
        kept = {one.id for one in pair.new.references if one.id in old and self._same_reference(pair, old[one.id], one)}
        self.going += [_drop_constraint(pair.old, one.name) for one in pair.old.references if one.id not in kept]
        for one in pair.new.references:
            if one.id in kept:
                self.later += map(Step, _renamed_constraint(pair.new, old[one.id].name, one.name))
                on = f"CONSTRAINT {quoted(one.name)} ON {pair.new.relation()}"
                self.later += _commented(on, old[one.id].comment, one.comment)
            else:
                self._add_reference(pair.new, one)

    def _same_reference(self, pair: Pair, old: ShownReference, new: ShownReference) -> bool:
        other = self.pairs.get(new.table_id)
        shape = (old.columns, old.table_id, old.others, old.key_id, old.on_delete, old.on_update)
        if other is None or shape != (
            new.columns, new.table_id, new.others, new.key_id, new.on_delete, new.on_update
        ):  # fmt: skip
            return False
        unsteady = self.unsteady[new.table_id]
        before, after = (
            next((key for key in table.keys if key.id == new.key_id), None) for table in (other.old, other.new)
        )
        stays = before is not None and after is not None and _same_key(before, after, unsteady)
        return stays and not unsteady & set(new.others) and not pair.unsteady & set(new.columns)

    def _add_reference(self, table: ShownTable, one: ShownReference) -> None:
        other = self.new.get(one.table_id)
        if other is None:  # it goes in this step, or is not public yet
            return
        here = ", ".join(quoted(table.column(number).name) for number in one.columns)
        there = ", ".join(quoted(other.column(number).name) for number in one.others)
        actions = "".join(
            f" ON {word} {does}"
            for word, does in (("DELETE", one.on_delete), ("UPDATE", one.on_update))
            if does != "NO ACTION"
        )
        begins = f"ALTER TABLE {table.relation()} ADD CONSTRAINT {quoted(one.name)}"
        piece = Piece(table.table_id, REFERENCE, one.id, one.name)
        made = f"{begins} FOREIGN KEY ({here}) REFERENCES {other.relation()} ({there}){actions}"
        self.later.append(Step(made, piece))
        self.later += _commented(f"CONSTRAINT {quoted(one.name)} ON {table.relation()}", None, one.comment, piece)

    def _rename(self, begins: str, old: str, new: str, piece: Piece | None = None) -> None:
        if old != new:
            self.renames.append(Rename(begins, old, new, piece))

    # -- views -----------------------------------------------------------------------------------------------------

    def _views(self) -> tuple[list[tuple[ShownView, bool]], list[int]]:
        """The views to make, each new or not, and the ids of those to drop first."""
        wanted = {view.view_id: view for view in self.views}
        is_less = any(i not in self.new for i in self.old) or any(self.unsteady.values())
        dropped = {i for i, known in self.had.items() if i not in wanted or self._breaks(wanted[i], known, is_less)}
        while more := {i for i in self.had.keys() & wanted if i not in dropped and wanted[i].views & dropped}:
            dropped |= more
        made: list[tuple[ShownView, bool]] = []
        for view in _in_order(wanted):
            known = None if view.view_id in dropped else self.had.get(view.view_id)
            if known is not None:
                self._rename("ALTER VIEW", known.name, view.name)
            if known is None or known.revision != view.revision:
                made.append((view, known is None))
        return made, sorted(dropped)

    def _breaks(self, view: ShownView, known: Known, is_less: bool) -> bool:
        if known.revision != view.revision:
            return is_less  # what it has read up to now is not known
        return any(numbers & self.unsteady.get(table_id, frozenset()) for table_id, numbers in view.reads)


def view_sql(view: ShownView, *, is_new: bool, query: str = "") -> list[str]:
    name, columns = relation(view.name), ", ".join(quoted(column.name) for column in view.columns)
    made = f"CREATE {'' if is_new else 'OR REPLACE '}VIEW {name} ({columns}) AS {query or view.query}"
    read = [f"SET LOCAL timezone = {literal(view.zone)}", f"SET LOCAL datestyle = 'ISO, {view.order}'"]
    return [*read, made, f"ALTER VIEW {name} OWNER TO {OWNER}"]


def placeholder_sql(types: Sequence[str], why: str) -> str:
    """A query without rows for a view that PostgreSQL refuses, with the reason."""
    columns = ", ".join(f"NULL::{kind}" for kind in types)
    reason = literal(f"the catalog cannot show this query: {why}")
    return f"SELECT {columns} FROM (SELECT {reason}::text AS reason) AS refused WHERE false"


def _in_order(views: Mapping[int, ShownView]) -> Iterator[ShownView]:
    left = dict(views)
    while left:
        ready = [view for view in left.values() if not view.views & left.keys()]
        assert ready, "views read each other"
        for view in ready:
            yield left.pop(view.view_id)


def _same_key(old: ShownKey, new: ShownKey, unsteady: frozenset[int]) -> bool:
    is_same = (old.columns, old.unique, old.kept) == (new.columns, new.unique, new.kept)
    may_become = old.kind == new.kind or (old.kind == INDEX and new.kind in (PRIMARY, UNIQUE))
    return is_same and may_become and not unsteady & ({number for number, _ in new.columns} | new.reads)


def _drop_constraint(table: ShownTable, name: str) -> str:
    return f"ALTER TABLE {table.relation()} DROP CONSTRAINT {quoted(name)}"


def _renamed_constraint(table: ShownTable, old: str, new: str) -> list[str]:
    renamed = f"ALTER TABLE {table.relation()} RENAME CONSTRAINT {quoted(old)} TO {quoted(new)}"
    return [] if old == new else [renamed]


def _has_other_numbers(old: ShownColumn, new: ShownColumn) -> bool:
    return (old.numbers and old.numbers.generation) != (new.numbers and new.numbers.generation)


def _identity(column: ShownColumn) -> str:
    numbers = column.numbers
    if numbers is None:
        return ""
    word = "ALWAYS" if numbers.always else "BY DEFAULT"
    return f" GENERATED {word} AS IDENTITY (SEQUENCE NAME {quoted(numbers.sequence)} START WITH {numbers.start})"


def _alter_column(table: ShownTable, column: ShownColumn) -> str:
    return f"ALTER TABLE {table.relation()} ALTER COLUMN {quoted(column.name)}"


def _with_default(table: ShownTable, column: ShownColumn) -> list[Step]:
    if column.default is None:
        return []
    piece = Piece(table.table_id, DEFAULT, column.number, column.name)
    return [Step(f"{_alter_column(table, column)} SET DEFAULT ({column.default})", piece)]


def _with_numbers(table: ShownTable, column: ShownColumn) -> list[Step]:
    if column.numbers is None:
        return []
    piece = Piece(table.table_id, IDENTITY, column.number, column.name)
    return [Step(f"{_alter_column(table, column)} ADD{_identity(column)}", piece)]


def _piece_of(table: ShownTable, key: ShownKey) -> Piece:
    return Piece(table.table_id, KEY, key.id, key.name)


def _undone(name: str) -> str:
    """Drops an index that could not be changed, with its constraint."""
    code = f"""BEGIN EXECUTE (
        SELECT coalesce(
            (SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname)
             FROM pg_constraint WHERE conindid = i.oid AND contype IN ('p', 'u')),
            format('DROP INDEX %s', i.oid::regclass)
        ) FROM pg_class i WHERE i.oid = {literal(relation(name))}::regclass); END"""
    return f"DO {literal(code)}"


def _commented(on: str, old: str | None, new: str | None, piece: Piece | None = None) -> list[Step]:
    return [] if old == new else [Step(f"COMMENT ON {on} IS {literal(new)}", piece)]


def _renamed(renames: Sequence[Rename]) -> list[Step]:
    """Renames within one namespace; where names are exchanged, by temporary ones."""
    olds = {one.old for one in renames}
    if not any(one.new in olds for one in renames):
        return [_rename_to(one, one.old, one.new) for one in renames]
    aside = [f"schemalab aside {number}" for number, _ in enumerate(renames)]
    away = [_rename_to(one, one.old, name) for one, name in zip(renames, aside, strict=True)]
    return away + [_rename_to(one, name, one.new) for one, name in zip(renames, aside, strict=True)]


def _rename_to(one: Rename, old: str, new: str) -> Step:
    if one.begins.endswith("COLUMN"):
        sql = f"{one.begins} {quoted(old)} TO {quoted(new)}"
    else:
        sql = f"{one.begins} {relation(old)} RENAME TO {quoted(new)}"
    return Step(sql, one.piece, "" if one.piece is None else _undone(old))
