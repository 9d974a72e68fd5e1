"""Set-ups on the lab's cluster: leases, news, routers, and a node that freezes (chapters 6, 7, 10, 12). Each has a
prologue, lines of the scripts' language before a session begins, and a palette of lines that it may take. The table is
t (id, a), and a change adds the index by_a on a; `step` is its executor's next act. That of routers is t (id, a, b),
without an index."""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.cluster.control_plane import Without
from lab.explorer.lanes import CATALOG, STORE
from lab.sessions.setup import WORLD, LeftOut, Setup
from lab.sessions.shown import Text

EXECUTOR, TIME, NETWORK = "executor", "time", "network"
ROWS_ASKED = (1, 2, 3)
"""The rows that clients of a router ask for."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the scripts' language as a step; `is_single`: a part of a statement."""

    text: str
    actor: str
    label: Text
    is_single: bool = False
    to: str = ""
    """The lane that it always leads to; "": its output decides."""


@dataclass(frozen=True, slots=True)
class Scenery:
    prologue: tuple[str, ...]
    palette: tuple[Line, ...]


TABLE = "table t (id bigint primary key, a bigint)"
INDEX = "create index by_a on t (a)"

PROTECTS: Mapping[Without, Text] = {
    Without.TWO_VERSIONS: Text("L7: a version is published once no node leases one older than the last"),
    Without.FENCE: Text("T2, T4, L7: lock, fence and deadline together keep old versions out"),
    Without.LOCK: Text("T2: a transaction's lock holds back a publish that its version would not survive"),
    Without.ENTRY: Text("T2: the store accepts no transaction of a version below the fence"),
    Without.DEADLINE: Text("T4: a transaction that has written ends with its lease"),
    Without.GRACE: Text("L8: a lock without a lease holds a change back for a short while only"),
    Without.ASKING_TIME: Text("L1: a lease counts from when it was asked for"),
}


def _may(*rules: Without) -> tuple[LeftOut, ...]:
    return tuple(LeftOut(rule.value, PROTECTS[rule]) for rule in rules)


def _leased(*nodes: str) -> tuple[str, ...]:
    return tuple(line for node in nodes for line in (f"{node}: take t", f"{node}: give t"))


def _time(*seconds: int) -> tuple[Line, ...]:
    return tuple(Line(f"tick {n} s", TIME, Text("{seconds} s pass", {"seconds": n})) for n in seconds)


STEP = Line("step", EXECUTOR, Text("the change takes its next step"))


def _node(name: str, *what: str) -> tuple[Line, ...]:
    labels = {
        "crash": Text("its process dies"),
        "start": Text("its process starts again"),
        "freeze": Text("its process freezes"),
        "thaw": Text("its process continues"),
        "drain": Text("it is drained: it gives its leases back"),
        "take t": Text("uses t"),
        "hold": Text("its messages wait"),
        "deliver": Text("its oldest message arrives"),
        "deliver last": Text("its last message arrives"),
        "flush": Text("all its messages arrive"),
        "lose": Text("its oldest message is lost"),
        "begin": Text("begins a transaction"),
        "commit": Text("commits"),
        "late commit": Text("its last message arrives: COMMIT"),
        "rollback": Text("rolls back"),
        "insert t (1, 1)": Text("inserts row 1 with a = 1"),
        "delete t (1)": Text("deletes row 1"),
        "select t": Text("reads all rows by the table"),
        "select t by by_a": Text("reads all rows by the index"),
    }
    single = {"begin", "commit", "rollback", "late commit"}
    return tuple(Line(f"{name}: {one}", name, labels[one], is_single=one in single) for one in what)


PLAN, SEND, COMMIT, RELOAD = "request insert t ({})", "send request", "commit request", "reload t"


def _router(name: str) -> tuple[Line, ...]:
    for_row = Text("takes a client's request: insert row {row} with a = 1 and b = 2")
    takes = (
        Line(f"{name}: {PLAN.format(f'id = {row}, a = 1, b = 2')}", name, Text(for_row.template, {"row": row}))
        for row in ROWS_ASKED
    )
    return (
        *takes,
        Line(f"{name}: {SEND}", name, Text("sends its oldest request to the storage"), to=STORE),
        Line(f"{name}: {COMMIT}", name, Text("commits what the storage has accepted"), to=STORE),
        Line(f"{name}: {RELOAD}", name, Text("its reload of the schema is answered"), to=CATALOG),
    )


WORLD_SETUPS: Mapping[str, Setup] = {
    setup.name: setup
    for setup in (
        Setup(
            "leases",
            WORLD,
            Text("A dead node and its lease"),
            Text("Leases last 30 s and were renewed 12 s ago. A change is about to publish v2 and v3."),
            may_leave_out=_may(Without.TWO_VERSIONS, Without.ASKING_TIME),
            chapter="06-leases",
        ),
        Setup(
            "news",
            WORLD,
            Text("News is only speed"),
            Text("Leases last 20 s and are renewed half-way. News of a version may be lost, or come late."),
            may_leave_out=_may(Without.TWO_VERSIONS),
            chapter="07-news",
        ),
        Setup(
            "router",
            WORLD,
            Text("A router with an old schema"),
            Text("Nodes plan requests by the schema they keep; the storages compare versions. No news arrives."),
            may_leave_out=_may(Without.ENTRY),
            chapter="10-router-and-storage",
        ),
        Setup(
            "frozen-node",
            WORLD,
            Text("A frozen node"),
            Text("Leases last 10 s. n1 has a transaction open in which it inserted row 1, under v1."),
            may_leave_out=_may(Without.FENCE, Without.LOCK, Without.ENTRY, Without.DEADLINE, Without.GRACE),
            single_steps=True,
            chapter="12-a-frozen-node",
        ),
    )
}

SCENERY: Mapping[str, Scenery] = {
    "leases": Scenery(
        ("lease 30 s", TABLE, *_leased("n1", "n2"), INDEX, "tick 12 s"),
        (
            *_node("n1", "crash", "start", "drain", "insert t (1, 1)", "delete t (1)"),
            *_node("n2", "crash", "start", "insert t (1, 1)", "delete t (1)", "select t", "select t by by_a"),
            STEP,
            *_time(1, 6, 10, 18),
        ),
    ),
    "news": Scenery(
        ("lease 20 s", TABLE, *_leased("n1", "n2"), INDEX),
        (
            *_node("n1", "hold", "deliver", "deliver last", "lose", "flush", "insert t (1, 1)", "delete t (1)"),
            *_node("n2", "insert t (1, 1)", "delete t (1)", "select t"),
            STEP,
            Line("lose news", NETWORK, Text("from now on news is lost")),
            Line("spread news", NETWORK, Text("news is spread again")),
            *_time(1, 5, 10),
        ),
    ),
    "router": Scenery(
        (
            *("lease 30 s", "table t (id int primary key, a int, b int) with (coordination = 'both')"),
            *(*_leased("n1"), "lose news"),
        ),
        (
            *_router("n1"),
            Line("publish t swap a b", EXECUTOR, Text("publish a version in which a and b exchange their names")),
            *_time(10),
        ),
    ),
    "frozen-node": Scenery(
        ("lease 10 s", TABLE, *_leased("n2"), INDEX, "n1: begin", "n1: insert t (1, 1)"),
        (
            *_node("n1", "freeze", "thaw", "commit", "late commit", "rollback", "begin", "insert t (1, 1)", "select t"),
            *_node("n2", "insert t (1, 1)", "delete t (1)", "select t", "select t by by_a"),
            STEP,
            *_time(1, 5, 10),
        ),
    ),
}
