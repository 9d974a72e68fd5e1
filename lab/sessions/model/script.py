"""A session on an explorer's model as a golden script: the same plan on the lab's cluster, and the same pairs. News are
lost, so that nodes get a version when the session says so, and the reorganisation goes by hand. Lines are found by
doing them: only the cluster knows how many steps its worker takes to the next publish."""

from collections.abc import Callable, Iterator

from catalog.elements import State, TableId
from changes.executor import events
from changes.plan.model import StepKind
from lab.cluster import consistency, reorganisation
from lab.cluster.control_plane import LabError, Without
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
from lab.explorer.model import Model
from lab.explorer.plans.small_tables import CHILD, FIRST_VALUE, IDS, PARENT
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.config import step_id
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Plain
from lab.scripts import golden
from lab.scripts.commands_of import Lab, perform
from lab.sessions.model.session import machine_of
from lab.sessions.model.setups import model_of, model_parameter
from lab.sessions.session import BadSession, Session, check_steps
from lab.sessions.setups import setup_named

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
    Broken.NO_LOCK: Without.LOCK,
    Broken.NO_CHECK: Without.ENTRY,
    Broken.STALE_FENCE: Without.ENTRY,
    Broken.NEWER_VERSION: Without.SNAPSHOT,
}
"""The rule of the cluster for each rule that a model lacks; the others are steps that its plan lacks. A fence as of a
snapshot lets in a version that a node leased when the snapshot was taken, as no fence would."""


class NoSentence(BadSession):
    """No sentence of a script has this step, or the lab's cluster refuses it."""


class Lines:
    """The lines of a session on `plain`, done on a cluster as they are written. `blocks` are those of the script."""

    def __init__(self, plain: Plain, why: str) -> None:
        self.plain, self.model = plain, plain.model
        self.lab = Lab()
        self.blocks: list[list[str]] = [[f"# {why}"]]
        if not self.model.refers_to_itself:
            self.blocks[0].append("# What the model calls 1 and 2 as values are 11 and 12 here.")
        self.tables = IDS if self.model.foreign_key else IDS[:1]
        self.read: list[tuple[int, int]] = []  # ranges and attempts that have been read and not put, oldest first
        for line in _prologue(self.model):
            self._do(line)
        for name in plain.names:
            for table in self.tables:
                self._acquire(name, table)
        if self.model.pair:
            self._do("step")

    @property
    def text(self) -> str:
        return golden.recorded([*self.blocks, [f"check {self._name(table)} accepted" for table in self.tables]])

    def take(self, step: Step, words: str = "") -> None:
        self.blocks.append([f"# {words or step_id(step)}"])
        try:
            self._take(step)
        except LabError as refusal:
            raise NoSentence(f"the lab's cluster does not take {step_id(step)}: {refusal}") from refusal
        if not any(line for line in self.blocks[-1] if not line.startswith("#")):
            *_, comment = self.blocks.pop()
            self.blocks[-1].append(comment)

    def _take(self, step: Step) -> None:
        if step[0] in self.plain.names:
            self._node(str(step[0]), step)
        elif step[0] == "given":
            values = step[1:]
            for (insert, row), value in zip(self.plain.effects.subjects, values, strict=True):
                if value != "-":
                    self._write("n1", (insert, row, int(str(value))))
        elif step[0] == "fill":
            self._fill(step)
        elif step[0] == "cancel":
            self._do("cancel")
        else:
            self._executor(str(step[0]))

    def _do(self, line: str) -> None:
        self.blocks[-1].append(line)
        perform(self.lab, line)

    # Nodes

    def _node(self, name: str, step: Step) -> None:
        match step[1:]:
            case ("acquire", *which):
                self._acquire(name, self.tables[self.plain.tables.index(str(which[0]))] if which else self.tables[0])
            case ("expire",):
                for table in self.tables:
                    self._do(f"release {self._name(table)} {name}")
            case ("begin",):
                self._do(f"{name}: begin")
                for table in () if self.model.late_enter else self.tables:
                    self._do(f"{name}: enter {self._name(table)}")
            case ("pin" | "enter" as verb,):
                self._do(f"{name}: {verb} {self._name(self.tables[0])}")
            case ("read", *_):
                pass
            case ("write", statement):
                self._write(name, statement)  # type: ignore[arg-type]
            case ("commit" | "rollback" as end,):
                self._do(f"{name}: {end}")
            case _:
                raise NoSentence(f"no sentence of a golden script says {step_id(step)}")

    def _acquire(self, name: str, table: TableId) -> None:
        if self.lab.world.control.newest(table).state is not State.ABSENT:
            self._do(f"{name}: take {self._name(table)} fresh")
            self._do(f"{name}: give {self._name(table)}")

    def _write(self, name: str, statement: Statement) -> None:
        what, row, other = statement
        table = self._name(self.tables[PARENT if what in OF_PARENTS else CHILD])
        number: Callable[[int], str] = self._value if what in OF_PARENTS else str
        key = number(row)
        if what in (INSERT, INSERT_PARENT):
            values = [] if other == NO_VALUE or what == INSERT_PARENT else [self._value(other)]
            self._do(f"{name}: insert {table} ({', '.join([key, *values])})")
        elif what in (DELETE, DELETE_PARENT):
            self._do(f"{name}: delete {table} ({key})")
        elif what == UPDATE:
            self._do(f"{name}: update {table} ({key}) set a = {self._value(other)}")
        else:
            self._do(f"{name}: update {table} ({key}) set id = {number(other)}")

    def _value(self, number: int) -> str:
        if number == 0:
            return "null"
        return str(number if self.model.refers_to_itself else FIRST_VALUE - 1 + number)

    def _name(self, table: TableId) -> str:
        return self.lab.world.control.newest(table).name

    # The change

    def _fill(self, step: Step) -> None:
        match step[1:]:
            case ("read", int(number), int(attempt)):
                self._reach(lambda asked: isinstance(asked, events.StartRun) and asked.kind is StepKind.FILL)
                keys = ", ".join(f"({row})" for row in rows_of_range(self.model, number - 1))
                self._do(f"chunk: read {keys}")
                self.read.append((number, attempt))
            case ("put", int(number), int(attempt)):
                place = self.read.index((number, attempt))
                del self.read[place]
                self._do(f"chunk: put {place + 1}" if place else "chunk: put")
            case ("purge",):
                self._do("chunk: purge")

    def _executor(self, word: str) -> None:
        if word == "remove":
            _, left = self.model.storage_counts
            for storage in range(left + 1, self.model.storages_there + 1):
                self._do(f"lose storage {storage}")
            return
        if word in ("publish", "drain"):
            self._reach(lambda asked: isinstance(asked, events.TryPublish if word == "publish" else events.TryDrain))
            self._step()
            return
        kind = StepKind.FILL if word in ("clear", "close") else StepKind(word)
        self._reach(lambda asked: isinstance(asked, events.StartRun) and asked.kind is kind)
        if word == "clear":
            self._do("step")
            return
        if kind is StepKind.FILL:
            self._do("chunk: none left")
        if kind is StepKind.DELETE:
            self._delete()
            return
        self._step()

    def _delete(self) -> None:
        assert isinstance(self.lab.change.asked, events.StartRun)
        left = [one for one in self.lab.change.asked.elements if self._pairs(one)]
        while left and self._pairs(left[0]):
            self._do("step")
        if not left[1:]:
            self._do("step")

    def _pairs(self, element: object) -> list[object]:
        return [*reorganisation.pairs_of(self.lab.world, self.tables[0], (element,))]  # type: ignore[arg-type]

    def _reach(self, is_it: Callable[[object], bool]) -> None:
        """Does acts without a step of their own, up to the session's next one. Raises `LabError`."""
        while not is_it(self.lab.change.asked):
            asked = self.lab.change.asked
            is_left_out = isinstance(asked, events.StartRun) and self.model.lacks(Broken.NO_DELETE)
            if not is_left_out and not isinstance(asked, events.TryDrain | events.CloseRun):
                raise LabError("its change has ended" if asked is None else "its change does something else next")
            self._step()

    def _step(self) -> None:
        before = self.lab.change.asked
        self._do("step")
        if self.lab.change.asked is before or isinstance(self.lab.change.asked, events.Wait):
            raise LabError("its change waits")

    def clauses(self) -> set[str]:
        """Clauses that a version breaks which the fence accepts, or a node leases."""
        world = self.lab.world
        accepted, locked = world.control.accepted_versions, world.locked()
        versions = (version for table in self.tables for version in accepted(table, world.now, locked))
        return {one.clause for version in versions for one in consistency.violations(world, version.table_id, version)}


def _prologue(model: Model) -> Iterator[str]:
    yield "by hand"
    yield "lose news"
    left_out = {LEFT_OUT[one] for one in model.broken if one in LEFT_OUT}
    left_out |= set() if model.fence else {Without.FENCE}
    left_out |= {Without.TWO_VERSIONS} if model.versions > 2 else set()
    yield from sorted(f"without {rule.value}" for rule in left_out)
    yield f"model {model_parameter(model)}"


def script_of(session: Session, why: str) -> str:
    """The session up to a refused step; `why` is the first comment. Raises `BadSession`, also `NoSentence`."""
    check_steps(session.steps)
    model, rows = model_of(setup_named(session.setup), session)
    machine = machine_of(model, rows)
    positions, lines_taken, _ = machine.followed(session.steps)
    try:
        lines = Lines(machine.plain, why)
    except LabError as refusal:
        raise NoSentence(f"the lab's cluster does not begin this change: {refusal}") from refusal
    if any(row != "-" for row in rows):
        lines.take(("given", *rows))
    for position, name, line in zip(positions, session.steps, lines_taken, strict=False):
        lines.take(position.taken[name].step, str(line.text))
    return lines.text
