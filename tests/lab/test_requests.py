"""Whatever routers, storages and publishes do in whatever order: no row is lost, doubled, or in a wrong column. News is
lost: a node gets a version by being refused, or as it renews its lease."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from catalog.descriptor import Descriptor
from catalog.elements import TableId
from changes.ddl.resolve import NothingToDo
from changes.ddl.statements import parse
from lab.cluster import requests as product
from lab.cluster import rolling
from lab.cluster.control_plane import LabError, Without
from lab.cluster.driver import drive
from lab.cluster.requests import LabRequest, Routers, RowRequest, Stage
from lab.cluster.world import World
from lab.scripts.commands import Lab
from lab.scripts.commands_of.changes import planned
from lab.scripts.hand_made_versions import first_version
from lab.scripts.text import key_text
from lab.simulator.invariants import Judge, Memory
from lab.simulator.oracle import Ledger
from leases.rules import Refusal
from nodes.router import attempts, batches, reloads
from nodes.router.batches import Ending
from storage import mutations
from storage.mutations import Op
from storage.pairs import StoredRow
from tests import rounds

T = TableId(1)
NODES, KEYS = ("n1", "n2"), ("1", "2", "3", "4", "5")
BOTH = "create table t (id int primary key, a text, b text) with (coordination = 'both')"
LEASE = "create table t (id int primary key, a text, b text)"
PAUSE_S = 0.3
REFUSALS = frozenset(refusal.value for refusal in Refusal)
MEMORY = Memory()


def swapped(newest: Descriptor) -> Descriptor:
    """The next version, in which the two columns of one type have exchanged their names."""
    names = {"a": "b", "b": "a"}
    return newest.next_version(columns=tuple(replace(c, name=names.get(c.name, c.name)) for c in newest.columns))


class Cluster(RuleBasedStateMachine):
    """Two routers, two storages, one table; what was acknowledged stands in the ledger."""

    ddl = BOTH
    without: frozenset[Without] = frozenset()
    waits_for_storages = True
    """A rolling publish ends when every storage knows the version, not before."""
    by_ladder = True
    """Another sharding key comes by the placement ladder, not at once."""

    def __init__(self) -> None:
        super().__init__()
        self.lab = Lab(World())
        self.world.loses_news = True
        self.world.control.without = set(self.without)
        self.routers, self.ledger, self.serial = Routers(self.world), Ledger(tables={T: {}}), 0
        self.judge = Judge(self.lab, self.ledger, MEMORY)
        self.world.publish(first_version(parse(self.ddl).action, T))  # type: ignore[arg-type]
        self.newest_at: dict[int, int] = {}
        self.meant: dict[int, Descriptor] = {}
        self.accounted: dict[int, int] = {}

    @property
    def world(self) -> World:
        return self.lab.world

    @property
    def newest(self) -> Descriptor:
        return self.world.control.newest(T)

    @property
    def change_runs(self) -> bool:
        return bool(self.lab.changes) and not self.lab.change.is_over

    # -- requests -----------------------------------------------------------------------------------------------

    @rule(node=st.sampled_from(NODES), verb=st.sampled_from(("insert", "insert", "replace", "delete", "get")),
          keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True))  # fmt: skip
    def request(self, node: str, verb: str, keys: list[str]) -> None:
        rows = []
        for key in keys:
            self.serial += 1
            values = {"a": f"a{self.serial}", "b": f"b{self.serial}"} if verb in ("insert", "replace") else {}
            rows.append(RowRequest(verb, {"id": key, **values}))
        newest = self.newest.version
        request = self.routers.begin(node, "t", *rows)
        self.newest_at[request.number] = newest

    @precondition(lambda self: self.routers.at(Stage.PLANNED))
    @rule(place=st.integers(0, 5))
    def send(self, place: int) -> None:
        planned_ones = self.routers.at(Stage.PLANNED)
        request = planned_ones[place % len(planned_ones)]
        self.routers.send(request)
        version = request.descriptor
        if request.stage is Stage.OPEN and version is not None:
            self.meant[request.number] = version if self.ddl == LEASE else self.newest
            assert version.version >= self.newest.version - (self.ddl == LEASE), "a version that is over was accepted"

    @precondition(lambda self: self.routers.at(Stage.OPEN))
    @rule(place=st.integers(0, 5))
    def commit(self, place: int) -> None:
        open_ones = self.routers.at(Stage.OPEN)
        request = open_ones[place % len(open_ones)]
        version, written = self.meant[request.number], list(request.written)
        done_before = set(request.batch.indices(Ending.DONE))
        self.routers.commit(request)
        done = set(request.batch.indices(Ending.DONE)) - done_before
        for one in written:
            if one.index in done and one.row is not None:
                self.acknowledge(request.rows[one.index], version, key_text(version, one.row.key), one.verb)

    def acknowledge(self, asked: RowRequest, version: Descriptor, key: str, verb: str) -> None:
        """The row is there from now on, with each value under the column that bore its name."""
        rows = self.ledger.tables[T]
        key = key.strip("()")
        if verb == "delete":
            rows.pop(key, None)
        elif verb != "get":
            assert verb == "replace" or key not in rows, f"row {key} was inserted twice"
            columns = version.public_columns[1:]
            rows[key] = {c.id: f"'{asked.values[c.name]}'" for c in columns}  # type: ignore[index]

    @precondition(lambda self: any(found is None for found in self.routers.loading.values()))
    @rule(is_failing=st.booleans())
    def read_catalog(self, is_failing: bool) -> None:
        node, table = next(key for key, found in self.routers.loading.items() if found is None)
        self.routers.read_catalog(node, table)
        if is_failing and self.serial % 3 == 0:
            self.routers.answer_reload(node, table, cause="the catalog did not answer")

    @precondition(lambda self: any(self.routers.loading.values()))
    @rule()
    def answer(self) -> None:
        self.routers.answer_reload(*next(key for key, found in self.routers.loading.items() if found))

    # -- versions -----------------------------------------------------------------------------------------------

    @precondition(lambda self: not self.change_runs and self.routers.rolling is None)
    @rule()
    def publish(self) -> None:
        with suppress(LabError):  # somebody uses the last version but one
            self.world.publish(swapped(self.newest))

    @precondition(lambda self: not self.change_runs and self.routers.rolling is None)
    @rule()
    def roll_out(self) -> None:
        with suppress(LabError):
            self.routers.rolling = rolling.begin(self.world, swapped(self.newest))

    @precondition(lambda self: self.routers.rolling and self.routers.rolling.new.version > self.newest.version)
    @rule(storage=st.integers(1, 2))
    def tell_storage(self, storage: int) -> None:
        assert self.routers.rolling is not None
        self.routers.rolling.aware.add(storage)

    @precondition(lambda self: self.routers.rolling and self.routers.rolling.new.version > self.newest.version)
    @rule()
    def finish_roll_out(self) -> None:
        assert self.routers.rolling is not None
        with suppress(LabError):
            if self.waits_for_storages:
                rolling.finish(self.world, self.routers.rolling)
                self.routers.rolling = None
            else:
                self.world.publish(self.routers.rolling.new)

    @precondition(lambda self: not self.change_runs and self.routers.rolling is None)
    @rule(key=st.sampled_from(("a", "id")))
    def reshard(self, key: str) -> None:
        with suppress(LabError, NothingToDo):
            plan = planned(self.lab, f"alter table t set (sharding_key = '{key}')")
            if not self.by_ladder:
                sharding_key = plan.result.placement.sharding_key
                there = replace(self.newest.placement, sharding_key=sharding_key)
                self.world.publish(self.newest.next_version(placements=(there,)))
                return
            self.lab.changes.append(drive(self.world, len(self.lab.changes) + 1, plan))

    @precondition(lambda self: self.change_runs)
    @rule(steps=st.integers(1, 4))
    def step_change(self, steps: int) -> None:
        for _ in range(steps):
            self.lab.change.do(self.world)
            finding = self.judge.look()
            assert finding is None, finding

    @rule(seconds=st.sampled_from((PAUSE_S, 5.0, 16.0)))
    def pass_time(self, seconds: float) -> None:
        self.routers.pass_time(seconds)

    # -- what must hold -----------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_wrong(self) -> None:
        finding = self.judge.look()
        assert finding is None, finding
        for request in self.routers.requests.values():
            done = len(request.batch.outcomes)
            assert done >= self.accounted.get(request.number, 0)
            self.accounted[request.number] = done
            assert (request.stage is Stage.OVER) is (done == len(request.rows))
        if self.ddl == BOTH:
            assert list(self.routers.acknowledged.misread(self.world, T)) == []

    def teardown(self) -> None:
        """Everybody goes on to the end: each request is answered, and each of its rows accounted for once."""
        if not hasattr(self, "routers"):
            return
        for _ in range(600):
            if not self.step_to_the_end():
                break
        else:
            raise AssertionError("a request, or a change, never ends")
        for request in self.routers.requests.values():
            self.check_failures(request)
        self.nothing_is_wrong()

    def step_to_the_end(self) -> bool:
        routers = self.routers
        if routers.at(Stage.OPEN):
            self.commit(0)
        elif routers.at(Stage.PLANNED):
            self.send(0)
        elif any(found is None for found in routers.loading.values()):
            self.read_catalog(is_failing=False)
        elif routers.loading:
            self.answer()
        elif routers.at(Stage.WAITING):
            self.pass_time(PAUSE_S)
        elif self.change_runs:
            self.step_change(10)
            self.pass_time(5.0)
        else:
            return False
        return True

    def check_failures(self, request: LabRequest) -> None:
        """Of the rows that failed each says why; none because of the schema, unless it moved on twice."""
        for outcome in request.batch.outcomes.values():
            if outcome.ending is Ending.FAILED and str(outcome.error) in REFUSALS:
                assert len(set(request.versions)) > 1 or self.newest.version - self.newest_at[request.number] > 1


class LeasedCluster(Cluster):
    """The same for a table that leases alone coordinate: the storages accept the two newest versions."""

    ddl = LEASE


def settings(few: int, many: int, **more: Any) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=many if rounds.in_soak else few,
        stateful_step_count=60 if rounds.in_soak else 40,
        deadline=None,
        derandomize=not rounds.in_soak,
        suppress_health_check=list(hypothesis.HealthCheck),
        **more,
    )


@pytest.mark.drawn
@pytest.mark.parametrize("machine", [Cluster, LeasedCluster], ids=["both", "lease"])
def test_no_row_is_lost_doubled_or_in_a_wrong_column(machine: type[Cluster]):
    run_state_machine_as_test(machine, settings=settings(30, 3000))


# --- each of these rules left out is noticed


class FenceNotAsked(Cluster):
    without = frozenset({Without.ENTRY})


class CatalogBeforeStorages(Cluster):
    waits_for_storages = False


class WithoutLadder(Cluster):
    by_ladder = False


def public_alone(descriptor: Descriptor, row: StoredRow, buckets: int) -> list[Op]:
    """An INSERT that forgets the placement that is filled."""
    readable = replace(descriptor, placements=(descriptor.placement,))
    return mutations.insert_row(readable, row, buckets)


SOAK = pytest.mark.soak
RULES: list[Any] = [
    pytest.param(FenceNotAsked, None, "", None, id="storages accept what is below the fence"),
    pytest.param(CatalogBeforeStorages, None, "", None, id="a version that a storage does not know", marks=SOAK),
    pytest.param(WithoutLadder, None, "", None, id="another sharding key at once"),
    pytest.param(Cluster, attempts, "MISMATCHES_MAX", 0, id="a refused request is not tried again", marks=SOAK),
    pytest.param(
        Cluster, reloads, "is_newer", lambda *_: True, id="any version serves who waits for a newer one", marks=SOAK
    ),
    pytest.param(Cluster, product, "insert_row", public_alone, id="an insert into one placement only", marks=SOAK),
    pytest.param(Cluster, batches.Batch, "left", property(lambda self: list(range(self.size))), id="a row done twice"),
]


@pytest.mark.parametrize(("machine", "of", "name", "instead"), RULES)
def test_it_can_fail(machine: type[Cluster], of: Any, name: str, instead: Any, monkeypatch: pytest.MonkeyPatch):
    if of is not None:
        monkeypatch.setattr(of, name, instead)
    once = settings(200, 1000, phases=[hypothesis.Phase.generate], report_multiple_bugs=False)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine, settings=once)
