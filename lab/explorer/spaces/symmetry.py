"""Worlds that differ in names only: one of them stands for all. Nodes are alike, so their versions are sorted. Rows are
alike, and values are, unless one is a default: the least image of all renamings is explored."""

from collections.abc import Iterator, Mapping
from itertools import permutations

from catalog.elements import Kind
from lab.explorer.contents.effects import Effects
from lab.explorer.contents.statements import rows_of_range
from lab.explorer.model import Model
from lab.explorer.plans.small_tables import encoded, row_key_of
from lab.explorer.spaces.fill import Ranges
from lab.explorer.spaces.reduced_space import World
from storage.pairs import PREFIX

Renaming = Mapping[bytes, bytes]
"""Encoded rows and values, by their names before."""

UNCHANGED = 0
NAME_BYTES = len(row_key_of(1))


class Symmetry:
    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self.renamings = list(_renamings(effects.model))
        self._images: list[dict[int, int]] = [{} for _ in self.renamings]
        self._chunk_images: list[dict[int, int]] = [{} for _ in self.renamings]
        self._least_ranges: dict[tuple[Ranges, tuple[int, ...]], Ranges] = {}
        self._best: dict[int, tuple[int, tuple[int, ...]]] = {}

    def least(self, world: World) -> World:
        found = self._best.get(world.contents)
        if found is None:
            images = [self._image(world.contents, way) for way in range(len(self.renamings))]
            least = min(images, key=self._order)
            found = self._best[world.contents] = least, tuple(way for way, image in enumerate(images) if image == least)
        contents, ways = found
        if not world.ranges:
            return world if contents == world.contents else world._replace(contents=contents)
        key = world.ranges, ways
        ranges = self._least_ranges.get(key)
        if ranges is None:
            ranges = self._least_ranges[key] = min(self._ranges(world.ranges, way) for way in ways)
        stop, _, versions, _, crashes, operations = world
        return World(stop, contents, versions, ranges, crashes, operations)

    def _order(self, contents: int) -> tuple[object, ...]:
        held = self.effects.known[contents]
        pairs = tuple(tuple((k, v is None, v or b"") for k, v in items) for items in held.pairs)
        return pairs, tuple((value is None, value or b"") for value in held.acknowledged)

    def _image(self, contents: int, way: int) -> int:
        if way == UNCHANGED:
            return contents
        images = self._images[way]
        if contents not in images:
            names, rows = self.renamings[way][0], self.renamings[way][1]
            held = self.effects.known[contents]
            storages = [{_renamed_key(k, names): _renamed(v, names) for k, v in items} for items in held.pairs]
            acknowledged: list[bytes | None] = [None] * len(held.acknowledged)
            for row, value in enumerate(held.acknowledged):
                acknowledged[rows[row] - 1] = _renamed(value, names)
            images[contents] = self.effects.number(storages, tuple(acknowledged))
        return images[contents]

    def _ranges(self, ranges: Ranges, way: int) -> Ranges:
        order = self.renamings[way][2]
        found = list(ranges)
        for number, (done, first, second) in enumerate(ranges):
            found[order[number]] = (done, self._chunk(first, way), self._chunk(second, way))
        return tuple(found)

    def _chunk(self, chunk: int, way: int) -> int:
        if chunk < 0 or way == UNCHANGED:
            return chunk
        images = self._chunk_images[way]
        if chunk not in images:
            names = self.renamings[way][0]
            ops = (
                op._replace(key=_renamed_key(op.key, names), value=names.get(op.value, op.value))
                for op in self.effects.chunks[chunk]
            )
            images[chunk] = self.effects.chunk(tuple(sorted(ops, key=lambda op: op.key)))
        return images[chunk]


def _renamings(model: Model) -> Iterator[tuple[Renaming, tuple[int, ...], tuple[int, ...]]]:
    """Names, the place of each acknowledged row, the place of each range. The first renaming changes nothing."""
    rows, values = tuple(range(1, model.rows + 1)), tuple(range(1, model.values + 1))
    alike = not model.has_placements
    values_alike = (
        alike and Kind.REQUIRED_COLUMN not in model.kinds and not (model.check or model.partial or model.widths)
    )
    values_alike = values_alike and not model.refers_to_itself  # where values are rows
    for new_rows in permutations(rows) if alike else [rows]:
        sets = [frozenset(rows_of_range(model, number)) for number in range(model.ranges)]
        images = [frozenset(new_rows[row - 1] for row in rows) for rows in sets]
        order = tuple(sets.index(image) for image in images) if all(image in sets for image in images) else None
        if order is None:
            continue
        for new_values in permutations(values) if values_alike else [values]:
            names = {row_key_of(a): row_key_of(b) for a, b in zip(rows, new_rows, strict=True)}
            names |= {encoded(a): encoded(b) for a, b in zip(values, new_values, strict=True)}
            yield names, _order_of_acknowledged(model, new_rows, new_values), order


def _order_of_acknowledged(model: Model, new_rows: tuple[int, ...], new_values: tuple[int, ...]) -> tuple[int, ...]:
    """Rows of a referenced table come first: their keys are values."""
    if not model.foreign_key:
        return new_rows
    return (*new_values, *(model.values + row for row in new_rows))


def _renamed(piece: bytes | None, names: Renaming) -> bytes | None:
    return None if piece is None else names.get(piece, piece)


def _renamed_key(key: bytes, names: Renaming) -> bytes:
    """A key with every encoded row and value renamed: the prefix, then pieces of one length or NULL."""
    pieces, at = [key[: PREFIX.size]], PREFIX.size
    while at < len(key):
        piece = key[at : at + NAME_BYTES]
        step = NAME_BYTES if piece in names else 1
        pieces.append(names.get(piece, key[at : at + 1]))
        at += step
    return b"".join(pieces)
