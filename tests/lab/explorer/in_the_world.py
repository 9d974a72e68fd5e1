"""A witness of the explorer as a run of the lab's world: the same plan, the same steps, the same pairs after each.

    n1.acquire       node n1 leases the newest version of the table, from the lease rows of the database
    publish.3        the change's own worker does what its machine asks for next
    fill.read.1.2    the second attempt at the first range reads its rows

News are lost on the way, so that nodes learn of a version when the witness says so, and the reorganisation goes by
hand. What has no step in the explorer, such as a drain when nothing is left to drain, is done on the way.
"""

from collections.abc import Callable
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import State, TableId
from changes.executor import events
from changes.plan.model import StepKind
from lab.cluster import node_statements, reorganisation
from lab.cluster.control_plane import Without
from lab.cluster.driver import drive
from lab.cluster.world import World
from lab.explorer.contents.statements import (
    DELETE,
    DELETE_PARENT,
    INSERT,
    INSERT_PARENT,
    NO_VALUE,
    OF_PARENTS,
    UPDATE,
    Statement,
    rows_of_range,
)
from lab.explorer.model import Broken, Model
from lab.explorer.plans.program import plan_of
from lab.explorer.plans.small_tables import CHILD, FIRST_VALUE, IDS, PARENT, row_key_of, tables_of
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Plain
from storage.store import MemoryStore

LEFT_OUT = {
    Broken.BLIND: Without.CAREFUL_FILL,
    Broken.EXISTS_ONLY: Without.TOMBSTONE_CHECK,
    Broken.NOT_CLEARED: Without.CLEAR,
    Broken.SEEN_ONLY: Without.BLIND_TOMBSTONES,
    Broken.TWICE: Without.ONCE,
    Broken.NO_CLOSE: Without.TOKEN,
    Broken.NO_DELETE: Without.DELETION,
    Broken.SNAPSHOT: Without.CONFLICTS,
    Broken.VISIBLE_MOVE: Without.HIDDEN_VALUES,
    Broken.INDEX_FIRST: Without.FILL_VALUE,
    Broken.CHILD_UNCHECKED: Without.CHILD_CHECKS,
    Broken.PARENT_UNCHECKED: Without.PARENT_CHECKS,
}
"""The rule of the world for each rule that a model lacks; the others are steps that its plan lacks."""


class Run:
    """A world that follows a witness of `plain`."""

    def __init__(self, plain: Plain) -> None:
        self.plain, self.model = plain, plain.model
        self.world = _world(self.model)
        self.tables = IDS if self.model.foreign_key else IDS[:1]
        self.chunks: dict[tuple[int, int], reorganisation.Chunk] = {}
        for name in plain.names:
            for table in self.tables:
                self._acquire(name, table)
        self.driver = drive(self.world, 1, plan_of(self.model))
        if self.model.pair:
            self.driver.do(self.world)

    # Steps

    def take(self, step: Step) -> None:
        """One step of the witness."""
        if step[0] in self.plain.names:
            self._node(str(step[0]), step)
        elif step[0] == "given":
            for (insert, row), value in zip(self.plain.effects.subjects, step[1:], strict=True):
                if value != "-":
                    self._write("n1", (insert, row, int(str(value))))
        elif step[0] == "fill":
            self._fill(step)
        elif step[0] == "cancel":
            self.driver.hears(self.world, events.CancelRequested("ann"))
        else:
            self._executor(str(step[0]))

    def _node(self, name: str, step: Step) -> None:
        match step[1:]:
            case ("acquire", *which):
                self._acquire(name, self.tables[self.plain.tables.index(str(which[0]))] if which else self.tables[0])
            case ("expire",):
                leases = self.world.control.leases
                now = self.world.now
                self.world.control.leases = [
                    replace(one, expires_at=now) if one.node == name else one for one in leases
                ]
            case ("begin",):
                one = node_statements.begin(self.world, name)
                for table in self.tables:
                    node_statements.enter(self.world, one, table)
            case ("read", *_):
                pass
            case ("write", statement):
                self._write(name, statement)  # type: ignore[arg-type]
            case ("commit",):
                node_statements.commit(self.world, name)
            case _:
                raise AssertionError(f"no witness has a step {step}")

    def _acquire(self, name: str, table: TableId) -> None:
        world = self.world
        if world.control.newest(table).state is not State.ABSENT:
            node = world.node(name)
            request, _ = node_statements.pin(world, node, table, fresh=True)
            node_statements.unpin(world, node.name, table, request)

    def _write(self, name: str, statement: Statement) -> None:
        what, row, other = statement
        table = self.tables[PARENT if what in OF_PARENTS else CHILD]
        number = self._value if what in OF_PARENTS else str
        key = [number(row)]
        if what in (INSERT, INSERT_PARENT):
            values = [] if other == NO_VALUE or what == INSERT_PARENT else [self._value(other)]
            node_statements.insert(self.world, name, table, [*key, *values])
        elif what in (DELETE, DELETE_PARENT):
            node_statements.delete(self.world, name, table, key)
        elif what == UPDATE:
            node_statements.update(self.world, name, table, key, [("a", self._value(other))])
        else:
            node_statements.update(self.world, name, table, key, [("id", number(other))])

    def _value(self, number: int) -> str | None:
        if number == 0:
            return None
        return str(number if self.model.refers_to_itself else FIRST_VALUE - 1 + number)

    def _fill(self, step: Step) -> None:
        world, run = self.world, self.driver.run
        match step[1:]:
            case ("read", int(number), int(attempt)):
                self._reach(lambda asked: isinstance(asked, events.StartRun) and asked.kind is StepKind.FILL)
                keys = frozenset(map(row_key_of, rows_of_range(self.model, number - 1)))
                self.chunks[number, attempt] = reorganisation.read_range(world, run, keys)
            case ("put", int(number), int(attempt)):
                reorganisation.put_chunk(world, run, self.chunks[number, attempt])
            case ("purge",):
                reorganisation.purge(world, run.table, run.elements)

    def _executor(self, word: str) -> None:
        if word in ("publish", "drain"):
            self._reach(lambda asked: isinstance(asked, events.TryPublish if word == "publish" else events.TryDrain))
            self._do()
            return
        kind = StepKind.FILL if word in ("clear", "close") else StepKind(word)
        self._reach(lambda asked: isinstance(asked, events.StartRun) and asked.kind is kind)
        if word == "clear":
            self.driver.do(self.world)
            return
        if kind is StepKind.FILL:
            self.driver.run.is_finished = True
        if kind is StepKind.DELETE:
            self._delete()
            return
        self._do()

    def _delete(self) -> None:
        """One element after the other, as a plan's step names them."""
        assert isinstance(self.driver.asked, events.StartRun)
        left = [one for one in self.driver.asked.elements if self._pairs(one)]
        while left and self._pairs(left[0]):
            self.driver.do(self.world)
        if not left[1:]:
            self.driver.do(self.world)

    def _pairs(self, element: object) -> list[object]:
        return [*reorganisation.pairs_of(self.world, self.tables[0], (element,))]  # type: ignore[arg-type]

    def _reach(self, is_it: Callable[[object], bool]) -> None:
        """Do what has no step of its own, until the machine asks for what the witness does next."""
        while not is_it(self.driver.asked):
            asked = self.driver.asked
            is_left_out = isinstance(asked, events.StartRun) and self.model.lacks(Broken.NO_DELETE)
            assert is_left_out or isinstance(asked, events.TryDrain | events.CloseRun), asked
            self._do()

    def _do(self) -> None:
        before = self.driver.asked
        self.driver.do(self.world)
        assert self.driver.asked is not before, before
        assert not isinstance(self.driver.asked, events.Wait), self.world.output

    # What is true

    def pairs(self) -> list[dict[bytes, bytes | None]]:
        return self.world.store.contents()

    def clauses(self) -> set[str]:
        """What any version breaks that the fence lets in, or a node leases."""
        return {
            one.clause
            for table in self.tables
            for version in self._in_force(table)
            for one in self.world.violations(table, version)
        }

    def _in_force(self, table: TableId) -> list[Descriptor]:
        control = self.world.control
        leased = {one.version for one in control.live(table, self.world.now)}
        fence = control.fences.get(table, 0)
        return [one for one in control.published[table] if one.version >= fence or one.version in leased]


def _world(model: Model) -> World:
    """The cluster before anything happened."""
    world = World(store=MemoryStore(storages=2 if model.has_placements else 1), by_hand=True, loses_news=True)
    for table in tables_of(model, model.stages[0], (1, 1)):
        world.control.published[table.table_id] = [table]
    world.control.without = {LEFT_OUT[one] for one in model.broken if one in LEFT_OUT}
    world.control.without |= set() if model.fence else {Without.FENCE}
    world.control.without |= {Without.TWO_VERSIONS} if model.versions > 2 else set()
    return world
