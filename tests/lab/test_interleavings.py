"""Random schedules of a small cluster: what must always hold, whatever comes first (L2, L3, the seven clauses). The
lab's cluster has the product's machines and rules. Hypothesis shrinks a failure to the shortest schedule."""

from dataclasses import dataclass, field, replace

from hypothesis import example, given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import NodeId, TableId
from catalog.values.types import SqlType
from changes.executor.state import Direction
from lab.cluster import consistency, node_statements
from lab.cluster.control_plane import LabError
from lab.cluster.driver import Driver
from lab.cluster.reorganisation import put_chunk, read_chunk
from lab.cluster.world import World
from lab.scripts.commands_of import Lab, Refusal, perform
from leases.node import vocabulary
from leases.node.holdings import Phase
from tests.rounds import drawn

USERS = TableId(1)
NODES = ("n1", "n2", "n3")
LEASE_S = 10.0


@dataclass
class Cluster:
    """Nodes that take and give one table, a publisher, a network that delivers in any order and loses news."""

    world: World = field(default_factory=World)
    waiting: dict[int, NodeId] = field(default_factory=dict)
    using: dict[int, NodeId] = field(default_factory=dict)

    def __post_init__(self) -> None:
        perform(Lab(self.world), "table users (id int primary key, name text)")
        self.world.control.lease_s = LEASE_S
        for name in NODES:
            self.world.node(name)

    def do(self, move: tuple[str, int]) -> None:
        kind, pick = move
        node = self.world.nodes[NodeId(NODES[pick % len(NODES)])]
        match kind:
            case "take" | "take-fresh" if node.is_running:
                request = node_statements.ask_for(self.world, node, USERS, fresh=kind == "take-fresh")
                self.waiting[request] = node.name
            case "give" if self.using:
                request = sorted(self.using)[pick % len(self.using)]
                self.world.hears(self.using.pop(request), vocabulary.Unpin(request, USERS))
            case "publish":
                self.publish()
            case "deliver" if self.world.messages:
                self.world.deliver(pick % len(self.world.messages))
            case "lose":
                self.lose_news(pick)
            case "pass":
                self.world.advance_to(self.world.now + pick / 10)
            case "cut" | "mend":
                node.is_cut_off = kind == "cut"
            case "drain" | "undrain" if node.is_running:
                self.world.hears(node.name, vocabulary.Drain() if kind == "drain" else vocabulary.Undrain())
            case "crash" if node.is_running:
                self.world.stop_node(node.name)
            case "start" if not node.is_running:
                self.world.start_node(node.name)
        self.hear()

    def publish(self) -> None:
        try:
            self.world.publish(self.world.control.newest(USERS).next_version())
        except LabError:
            return

    def lose_news(self, pick: int) -> None:
        news = [
            message for message in self.world.messages if not message.is_request and hasattr(message.content, "table")
        ]
        if news and type(news[pick % len(news)].content).__name__ == "News":
            self.world.messages.remove(news[pick % len(news)])

    def hear(self) -> None:
        """Callers that are answered wait no more; those of a node that died are gone."""
        for request in list(self.waiting):
            node = self.waiting[request]
            if request in self.world.granted:
                self.using[request] = node
            if request in self.world.granted or request in self.world.refused or not self.is_asking(node, request):
                del self.waiting[request]
        self.using = {r: n for r, n in self.using.items() if self.world.nodes[n].is_running}

    def is_asking(self, node: NodeId, request: int) -> bool:
        """Whether the node that was asked still lives (a new incarnation knows nothing of it)."""
        leases = self.world.nodes[node].leases.table(USERS)
        return self.world.nodes[node].is_running and any(waiter.request == request for waiter in leases.waiters)


LEASE_KINDS = [
    *("take", "take-fresh", "give", "publish", "lose"),
    *("deliver", "deliver", "deliver", "pass", "pass"),
    *("cut", "mend", "drain", "undrain", "crash", "start"),
]
LEASE_MOVES = st.lists(st.tuples(st.sampled_from(LEASE_KINDS), st.integers(0, 60)), min_size=20, max_size=60)


@drawn(few=50, many=200)
@given(LEASE_MOVES)
def test_at_most_two_versions_are_leased_and_every_user_has_a_live_lease(moves: list[tuple[str, int]]) -> None:
    cluster = Cluster()
    for move in moves:
        cluster.do(move)
        control, now = cluster.world.control, cluster.world.now
        assert list(control.outside_two_versions(now)) == [], "L2"
        for node in cluster.world.nodes.values():
            _check_node(cluster, node.name)


def _check_node(cluster: Cluster, name: NodeId) -> None:
    """What a node believes it may use is leased in the database, at least as long (L1)."""
    node, world = cluster.world.nodes[name], cluster.world
    if not node.is_running or node.leases.phase is Phase.STOPPED:
        return
    live = {(lease.version, lease.expires_at) for lease in world.control.live(USERS, world.now) if lease.node == name}
    for held in node.leases.table(USERS).held:
        if held.pins and world.now < held.stop_at:
            assert any(version == held.version and ends >= held.deadline for version, ends in live)
    asked = [
        message
        for message in world.messages
        if message.node == name and isinstance(message.content, vocabulary.Acquire)
    ]
    assert len(asked) <= 1, "one acquisition at a time (L3)"


@drawn(few=50, many=200)
@given(LEASE_MOVES)
def test_nobody_who_waits_is_stranded(moves: list[tuple[str, int]]) -> None:
    cluster = Cluster()
    for move in moves:
        cluster.do(move)
    for node in cluster.world.nodes.values():
        node.is_cut_off = False
    cluster.world.settle()
    cluster.world.pass_time(2.0)
    cluster.hear()
    assert cluster.waiting == {}


# Rows, two versions and a fill


KEYS, NAMES = ("1", "2", "3"), ("'a'", "'b'", "null")
ROW_KINDS = [
    *("insert", "update", "delete", "insert", "update", "delete", "move"),
    *("step", "read", "read", "put", "put", "put", "crash-worker", "spread", "lose"),
]
ROW_MOVES = st.lists(
    st.tuples(st.sampled_from(ROW_KINDS), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    min_size=20,
    max_size=40,
)


@drawn(few=30, many=120)
@given(st.sampled_from(["(name)", "(name desc, id)"]), st.sampled_from([0, 2, 4, 5, 5, 5, 8]), ROW_MOVES, st.booleans())
def test_rows_and_entries_stay_consistent_while_an_index_comes_or_goes_back(
    columns: str, steps: int, moves: list[tuple[str, int, int, int]], cancels: bool
) -> None:
    lab = Lab()
    perform(lab, "table users (id int primary key, name text)")
    perform(lab, "n1: insert users (1, 'a')")
    perform(lab, "n1: insert users (2, 'b')")
    perform(lab, f"create index by_name on users {columns}")
    for _ in range(steps):
        lab.change.do(lab.world)
    for move in moves:
        _do(lab, *move)
        _check(lab)
    if cancels:
        _try(lab, "cancel")
    lab.world.loses_news = False
    for _ in range(5):
        lab.world.pass_time(60.0)
        lab.change.go(lab.world)
        _check(lab)
    assert lab.change.is_over
    assert all(value is not None for pairs in lab.world.store.pairs for value in pairs.values()), "no tombstone is left"


def _do(lab: Lab, kind: str, node: int, key: int, name: int) -> None:
    actor, row = NODES[node], f"({KEYS[key]})"
    match kind:
        case "insert":
            _try(lab, f"{actor}: insert users ({KEYS[key]}, {NAMES[name]})")
        case "update":
            _try(lab, f"{actor}: update users {row} set name = {NAMES[name]}")
        case "move":
            _try(lab, f"{actor}: update users {row} set id = {KEYS[name]}")
        case "delete":
            _try(lab, f"{actor}: delete users {row}")
        case "step" if not lab.change.is_over:
            lab.change.do(lab.world)
        case "crash-worker" if not lab.change.is_over:
            lab.change.crash(lab.world, after_doing=bool(key))
            lab.change.start(lab.world)
        case "read":
            _read(lab.world, lab.change)
        case "put":
            _put(lab.world, lab.change, key)
        case "spread" | "lose":
            lab.world.loses_news = kind == "lose"


def _try(lab: Lab, line: str) -> None:
    """A statement may be refused; what matters is what it leaves."""
    try:
        perform(lab, line)
    except Refusal:
        return


def _read(world: World, driver: Driver) -> None:
    """An attempt at a chunk, as soon as ranges are handed out; it may put much later, or never."""
    is_filling = driver.step is not None and driver.step.kind.value == "fill"
    if is_filling:
        read_chunk(world, driver.run, 1)


def _put(world: World, driver: Driver, pick: int) -> None:
    run = driver.started
    if run is not None and run.chunks:
        try:
            put_chunk(world, run, run.chunks[pick % len(run.chunks)])
        except LabError:
            return


def _check(lab: Lab) -> None:
    world = lab.world
    for descriptor in world.control.versions_in_force(USERS, world.now, world.locked()):
        assert consistency.violations(world, USERS, descriptor) == []


# Plans of several elements


PARTS = (
    "add column note text",
    "add column level int not null default 7",
    "add column level int default 8, add constraint low check (level < 9)",
    "drop column age",
    "alter column age type bigint",
    "alter column name set not null",
    "add constraint known check (name <> 'b')",
    "alter column name drop not null",
    "drop constraint known",
    "add constraint elder foreign key (age) references users (id)",
    "drop constraint elder",
    "drop column level",
    "rename column name to title",
    "alter column age set default 3",
)
WHOLE = (
    "create index by_name on users (name)",
    "create unique index by_age on users (age, id)",
    "create index grown on users (name) where age > 2",
    "create index by_level on users (level)",
    "drop index by_name",
    "drop index grown",
)
STATEMENTS = st.one_of(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=3, unique=True).map(
        lambda parts: f"alter table users {', '.join(parts)}"
    ),
    st.sampled_from(WHOLE),
)
WIDE_KINDS = [*("insert", "insert", "update", "update", "delete", "move"), *("step", "step", "step", "crash-worker")]
WIDE_MOVES = st.lists(
    st.tuples(st.sampled_from(WIDE_KINDS), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    min_size=12,
    max_size=30,
)


B_AND_NULL = [("insert", 0, 2, 1), ("insert", 1, 2, 2), ("update", 1, 0, 1), ("update", 2, 1, 2)]


@drawn(few=12, many=40)
@example(["alter table users add constraint known check (name <> 'b')"], 7, B_AND_NULL, False)
@example(["alter table users alter column name set not null"], 7, B_AND_NULL, False)
@example(["alter table users alter column name set not null"], 2, B_AND_NULL, True)
@given(st.lists(STATEMENTS, min_size=1, max_size=3), st.sampled_from([0, 1, 2, 3, 4, 7]), WIDE_MOVES, st.booleans())
def test_any_plans_of_several_elements_keep_the_clauses(
    plans: list[str], steps: int, moves: list[tuple[str, int, int, int]], cancels: bool
) -> None:
    """Statements of nodes on either version between all steps of one change after the other; the last may turn back."""
    lab = Lab()
    perform(lab, "table users (id int primary key, name text, age int)")
    perform(lab, "n1: insert users (1, 'a', 1)")
    perform(lab, "n1: insert users (2, 'a', 2)")
    for number, statement in enumerate(plans):
        before = lab.world.control.newest(USERS)
        if not _submits(lab, statement):
            continue
        for _ in range(steps):
            lab.change.do(lab.world)
        for move in moves:
            _do_wide(lab, *move)
            _check(lab)
        if cancels and number == len(plans) - 1:
            _try(lab, "cancel")
        _end(lab)
        if lab.change.state.direction is Direction.BACK:
            assert _as_before(lab.world.control.newest(USERS), before)


def _submits(lab: Lab, statement: str) -> bool:
    try:
        perform(lab, statement)
    except Refusal:
        return False
    return True


def _do_wide(lab: Lab, kind: str, node: int, key: int, name: int) -> None:
    """As `_do`, with a value for every column that the node's version has."""
    actor, row = NODES[node], f"({KEYS[key]})"
    columns = lab.world.control.newest(USERS).public_columns[1:]
    values = [NAMES[name] if column.type is SqlType.TEXT else str(name + 1) for column in columns]
    if kind == "insert":
        _try(lab, f"{actor}: insert users ({', '.join([KEYS[key], *values])})")
    elif kind == "update":
        at = (key + name) % len(columns)
        _try(lab, f"{actor}: update users {row} set {columns[at].name} = {values[at]}")
    else:
        _do(lab, kind, node, key, name)


def _end(lab: Lab) -> None:
    lab.world.loses_news = False
    for _ in range(6):
        lab.world.pass_time(60.0)
        lab.change.go(lab.world)
        _check(lab)
    assert lab.change.is_over
    assert all(value is not None for pairs in lab.world.store.pairs for value in pairs.values()), "no tombstone is left"


def _as_before(after: Descriptor, before: Descriptor) -> bool:
    """X4: equal but for versions and the ids that are used up."""
    used = {
        name: getattr(before, name) for name in ("version", "next_column_id", "next_index_id", "next_constraint_id")
    }
    return replace(after, **used) == before
