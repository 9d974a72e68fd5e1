"""The executor's machine: every plan walked, crashed, paused and cancelled at every step (X2, X3, X4, X6)."""

import json
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.elements import NodeId, State, TableId
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse
from changes.executor.events import (
    AppendEvent,
    Blocked,
    CancelRequested,
    CloseRun,
    Drained,
    Effect,
    Event,
    Finish,
    LeaseLost,
    Outcome,
    PauseRequested,
    PauseRun,
    Published,
    RefuseCancel,
    ResumeRequested,
    RunClosed,
    RunDone,
    RunFailed,
    RunPaused,
    Started,
    StartRun,
    StepFailed,
    TryDrain,
    TryPublish,
    Wait,
    Woken,
)
from changes.executor.machine import RETRIES_MAX, TRANSITIONS, IllegalTransition, step
from changes.executor.state import Direction, Execution, Mode, execution_from_json
from changes.plan.model import Plan, StepKind
from changes.planning.planner import make_plan
from leases.rules import Hindrance, Lease
from tests.changes.tables import every_plan, plans
from tests.references import AIRPORTS, TRIPS, airports, trips
from tests.rounds import drawn

PLANS = every_plan() | plans()
EVERY_PLAN = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
BLOCKER = Hindrance((Lease(TableId(7), 2, NodeId("n3"), 1, 60.0),))


@dataclass
class Shell:
    """A shell that does what it is told in a catalog of one table, and remembers."""

    state: Execution
    newest: int = 0
    now: float = 0.0
    asked: Effect | None = None
    stories: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    ended: Finish | None = None
    published: list[int] = field(default_factory=list)
    done: list[StepKind] = field(default_factory=list)

    def hears(self, event: Event) -> None:
        self.state, effects = step(self.state, event, self.now)
        for effect in effects:
            self.perform(effect)

    def perform(self, effect: Effect) -> None:
        match effect:
            case AppendEvent(story):
                self.stories.append(story.kind)
            case RefuseCancel(reason):
                self.refusals.append(reason)
            case Finish():
                self.ended, self.asked = effect, None
            case TryPublish() | TryDrain() | StartRun() | PauseRun() | CloseRun() | Wait():
                self.asked = effect

    def do(self) -> Event | None:
        """What was asked for happens in the world; the answer is not yet heard."""
        match self.asked:
            case TryPublish(version=version):
                if version != self.newest:
                    assert version == self.newest + 1, "versions are published one by one"
                    self.newest = version
                    self.published.append(version)
                return Published(version)
            case TryDrain(version=version):
                return Drained(version)
            case StartRun(kind=kind):
                self.done.append(kind)
                return RunDone(kind)
            case PauseRun(kind=kind):
                return RunPaused(kind)
            case CloseRun():
                return RunClosed()
            case Wait():
                return Woken()
            case _:
                return None

    def go(self, steps: int = 100) -> None:
        """Answer what is asked for, so often."""
        for _ in range(steps):
            answer = None if self.ended else self.do()
            if answer is None:
                return
            self.hears(answer)

    def crash(self) -> None:
        """The worker dies; the next one has only what was stored."""
        self.state = execution_from_json(json.loads(json.dumps(self.state.to_json())))
        self.asked = None
        self.hears(Started(self.newest))


def shell(plan: Plan) -> Shell:
    return Shell(Execution(3, plan), newest=plan.base_version)


def started(plan: Plan, steps: int = 0) -> Shell:
    one = shell(plan)
    one.hears(Started(plan.base_version))
    one.go(steps)
    return one


@EVERY_PLAN
def test_a_change_ends_when_every_step_is_done(plan: Plan) -> None:
    one = started(plan, 100)
    assert one.ended is not None
    assert one.ended.outcome is Outcome.DONE
    assert one.newest == plan.result.version
    assert one.stories[0] == "change started"


@EVERY_PLAN
def test_a_crash_at_any_step_changes_nothing(plan: Plan) -> None:
    undisturbed = started(plan, 100)
    for at in range(len(plan.forward)):
        for is_done in (False, True):
            one = started(plan, at)
            if is_done:
                one.do()
            one.crash()
            one.go()
            assert one.ended == undisturbed.ended
            assert one.published == undisturbed.published


@EVERY_PLAN
def test_a_cancel_before_the_point_of_no_return_rolls_back_and_one_after_it_is_refused(plan: Plan) -> None:
    for at in range(len(plan.forward)):
        one = started(plan, at)
        one.hears(CancelRequested("ann"))
        one.go()
        assert one.ended is not None
        if one.refusals:
            assert one.ended.outcome is Outcome.DONE
            assert "can't be cancelled any more" in one.refusals[0]
            assert at >= plan.point_of_no_return
        else:
            assert one.ended.outcome is Outcome.CANCELLED
            assert at < plan.point_of_no_return


@EVERY_PLAN
def test_a_cancel_that_meets_a_crash_is_judged_by_what_the_catalog_says(plan: Plan) -> None:
    for at in range(len(plan.forward)):
        one = started(plan, at)
        one.do()
        one.hears(LeaseLost())
        one.hears(CancelRequested("ann"))
        one.crash()
        one.go()
        assert one.ended is not None
        assert one.ended.outcome is (Outcome.DONE if at >= plan.point_of_no_return else Outcome.CANCELLED)


@EVERY_PLAN
def test_a_pause_holds_at_any_step_until_resumed(plan: Plan) -> None:
    for at in range(len(plan.forward)):
        one = started(plan, at)
        one.hears(PauseRequested("ann"))
        one.go()
        assert one.state.mode is Mode.PAUSED or at == len(plan.forward) - 1
        one.crash()
        assert one.state.mode is Mode.PAUSED or one.ended
        one.hears(ResumeRequested("ann"))
        one.go()
        assert one.ended is not None
        assert one.ended.outcome is Outcome.DONE


def test_a_run_is_shown_as_paused_once_no_chunk_of_it_can_commit() -> None:
    one = started(PLANS["add an index"], 4)
    one.hears(PauseRequested("ann"))
    assert (one.state.mode, one.asked) == (Mode.ASKING, PauseRun(StepKind.FILL))
    one.crash()
    assert (one.state.mode, one.asked) == (Mode.ASKING, PauseRun(StepKind.FILL)), "the next worker asks again"
    one.hears(RunPaused(StepKind.FILL))
    assert (one.state.mode, one.stories[-1]) == (Mode.PAUSED, "change pausing")


def test_a_pause_taken_back_before_it_took_hold_starts_the_run_again() -> None:
    one = started(PLANS["add an index"], 4)
    for event in (PauseRequested("ann"), ResumeRequested("ann"), RunPaused(StepKind.FILL)):
        one.hears(event)
    assert one.state.mode is Mode.ASKING
    assert isinstance(one.asked, StartRun)


def test_a_failed_verification_rolls_back_and_keeps_the_first_error() -> None:
    one = started(PLANS["add an index"], 5)
    one.hears(RunFailed(StepKind.VERIFY, "row (1) has no entry"))
    one.hears(RunClosed())
    one.go()
    assert one.ended is not None
    assert (one.ended.outcome, one.ended.error) == (Outcome.FAILED, "row (1) has no entry")
    assert one.done == [StepKind.FILL, StepKind.DELETE]
    assert "change rolling back" in one.stories


def test_the_run_is_closed_before_the_next_version_in_the_rollback() -> None:
    one = started(PLANS["add an index"], 4)
    one.hears(CancelRequested("ann"))
    assert isinstance(one.asked, CloseRun)
    one.go(1)
    assert isinstance(one.asked, TryPublish)


def test_a_late_answer_of_a_step_left_behind_changes_nothing() -> None:
    one = started(PLANS["add an index"], 4)
    one.hears(CancelRequested("ann"))
    before = one.state
    one.hears(RunDone(StepKind.FILL))
    assert replace(one.state, history=before.history) == before


def test_who_holds_it_back_is_reported_once_and_until_when() -> None:
    one = started(PLANS["add an index"])
    one.hears(Blocked(BLOCKER))
    assert one.asked == Wait(BLOCKER, 60.0)
    assert one.stories.count("version waiting") == 1
    one.now = 2.0
    one.hears(Woken())
    one.hears(Blocked(BLOCKER))
    assert one.stories.count("version waiting") == 1
    one.now = 5.0
    one.hears(Woken())
    assert isinstance(one.asked, TryPublish)
    assert one.asked.story.payload["waited"] == "waited 5.0 s for n3"


def test_where_nobody_was_in_the_way_no_time_is_named() -> None:
    one = started(PLANS["add an index"])
    assert isinstance(one.asked, TryPublish)
    assert one.asked.story.payload["waited"] == "at once"


def test_a_wait_of_a_moment_is_not_of_no_time() -> None:
    one = started(PLANS["add an index"])
    one.hears(Blocked(BLOCKER))
    one.now = 0.02
    one.hears(Woken())
    assert isinstance(one.asked, TryPublish)
    assert one.asked.story.payload["waited"] == "waited < 0.1 s for n3"


def test_a_wait_was_for_those_who_were_in_the_way_last() -> None:
    """Others have the old version, too, when the next one is published, and have left it a moment later."""
    one = started(PLANS["add an index"])
    everybody = [Lease(BLOCKER.leases[0].table, 1, NodeId(f"n{n}"), 1, 60.0) for n in (1, 2, 3)]
    one.hears(Blocked(replace(BLOCKER, leases=tuple(everybody))))
    one.now = 1.0
    one.hears(Woken())
    one.hears(Blocked(BLOCKER))
    assert one.stories.count("version waiting") == 1
    one.now = 5.0
    one.hears(Woken())
    assert isinstance(one.asked, TryPublish)
    assert one.asked.story.payload["waited"] == "waited 5.0 s for n3"


def test_a_cancel_while_waiting_rolls_back_at_once() -> None:
    one = started(PLANS["add an index"], 2)
    one.hears(Blocked(BLOCKER))
    one.hears(CancelRequested("ann"))
    assert one.state.direction is Direction.BACK
    assert isinstance(one.asked, TryDrain)


def test_a_queued_change_is_cancelled_without_a_trace() -> None:
    one = shell(PLANS["add an index"])
    one.hears(CancelRequested("ann"))
    assert one.ended is not None
    assert one.ended.outcome is Outcome.CANCELLED
    assert one.published == []


def test_past_the_point_of_no_return_a_failure_is_tried_again_and_then_waits_for_a_person() -> None:
    one = started(PLANS["drop an index"], 4)
    for _ in range(RETRIES_MAX):
        one.hears(RunFailed(StepKind.DELETE, "no Spark"))
        assert isinstance(one.asked, Wait)
        one.hears(Woken())
    one.hears(RunFailed(StepKind.DELETE, "no Spark"))
    assert one.state.mode is Mode.PAUSED
    one.hears(ResumeRequested("ann"))
    one.go()
    assert one.ended is not None
    assert (one.ended.outcome, one.ended.error) == (Outcome.DONE, None)


def test_a_table_may_be_kept_until_its_deletion_begins() -> None:
    one = started(PLANS["drop a table"], 1)
    one.hears(PauseRequested("ann"))
    one.go(1)
    assert one.state.mode is Mode.PAUSED
    one.hears(CancelRequested("ann"))
    one.go()
    assert one.ended is not None
    assert one.ended.outcome is Outcome.CANCELLED
    assert one.refusals == []


def test_a_step_that_cannot_be_done_rolls_back() -> None:
    one = started(PLANS["add an index"], 2)
    one.hears(StepFailed("the descriptor is too large"))
    one.go()
    assert one.ended is not None
    assert one.ended.error == "the descriptor is too large"


def test_somebody_else_who_moved_the_table_is_noticed() -> None:
    one = started(PLANS["add an index"], 1)
    one.newest = 9
    with pytest.raises(IllegalTransition, match="somebody else moved it. Before that: started, published 3"):
        one.crash()


@pytest.mark.parametrize(
    ("event", "message"),
    [
        pytest.param(Published(9), "It cannot take published 9. Before that: started", id="a version not asked for"),
        pytest.param(RunDone(StepKind.PURGE), "It cannot take run done purge", id="a run not asked for"),
        pytest.param(RunClosed(), "It cannot take run closed", id="a closing not asked for"),
    ],
)
def test_an_answer_to_no_question_raises_with_the_history(event: Event, message: str) -> None:
    with pytest.raises(IllegalTransition, match=message):
        started(PLANS["add an index"]).hears(event)


def test_nothing_answers_before_a_worker_started() -> None:
    with pytest.raises(IllegalTransition, match="change 3 of index by_name is queued"):
        shell(PLANS["add an index"]).hears(Drained(3))


def test_every_mode_says_what_people_and_workers_may_do() -> None:
    for mode in Mode:
        for event in (Started, CancelRequested, PauseRequested, ResumeRequested, LeaseLost):
            assert (mode, event) in TRANSITIONS


MOVES = st.lists(st.sampled_from(["do", "crash", "block", "fail", "cancel", "pause", "resume", "lose"]), max_size=40)


@drawn(few=75, many=300)
@given(st.sampled_from(sorted(PLANS)), MOVES)
def test_whatever_happens_it_ends_done_or_as_before(name: str, moves: list[str]) -> None:
    plan = PLANS[name]
    one = started(plan)
    for move in moves:
        if one.ended is None:
            _disturb(one, move)
    one.crash()
    one.hears(ResumeRequested("ann"))
    one.go()
    assert one.ended is not None
    _check_end(one, plan)


USED_UP = ("next_column_id", "next_index_id", "next_constraint_id", "next_placement_id")


def _disturb(one: Shell, move: str) -> None:
    match move:
        case "do":
            one.go(1)
        case "crash":
            one.do()
            one.crash()
        case "block" if isinstance(one.asked, TryPublish | TryDrain):
            one.hears(Blocked(BLOCKER))
        case "fail" if isinstance(one.asked, StartRun):
            one.hears(RunFailed(one.asked.kind, "broken"))
        case "cancel":
            one.hears(CancelRequested("ann"))
        case "pause":
            one.hears(PauseRequested("ann"))
        case "resume":
            one.hears(ResumeRequested("ann"))
        case "lose":
            one.hears(LeaseLost())
            one.hears(Started(one.newest))


def _check_end(one: Shell, plan: Plan) -> None:
    assert one.ended is not None
    assert one.published == list(range(plan.base_version + 1, one.newest + 1)), "no version is left out or doubled"
    last = next((s.descriptor for s in reversed(one.state.steps) if s.descriptor), plan.base)
    if one.ended.outcome is Outcome.DONE:
        assert one.newest == plan.result.version
    elif plan.base is not None and last is not None:
        used = {name: getattr(last, name) for name in USED_UP}
        assert last == replace(plan.base, version=last.version, **used), "the table is as it was (X4)"
        assert one.newest == last.version
    elif last is not None:
        assert last.state is State.ABSENT


# --- L11: several tables


def linking() -> Plan:
    """A foreign key from trips to airports, added."""
    view = CatalogView((airports(), trips()))
    action = resolve(parse("ALTER TABLE trips ADD nick text, ADD FOREIGN KEY (code) REFERENCES airports"), view)
    return make_plan(action, trips(), tables=view)


def test_l11_each_table_is_given_its_own_version_and_what_of_it_moved() -> None:
    one = started(linking())
    assert isinstance(one.asked, TryPublish)
    assert (one.asked.partners, one.asked.partner_stories) == ((), ())
    one.go(6)
    assert isinstance(one.asked, TryPublish)
    [theirs] = one.asked.partner_stories
    assert (theirs.kind, theirs.payload["table"], theirs.payload["version"]) == ("version published", "airports", 3)
    assert theirs.payload["what"] == "foreign key trips_code_fkey write-only -> public"
    assert "column nick" in one.asked.story.payload["what"]
    one.go(1)
    assert isinstance(one.asked, TryDrain)
    assert [story.payload["table"] for story in one.asked.partner_stories] == ["airports"]


def test_l11_who_holds_it_back_is_named_with_the_table() -> None:
    one = started(linking())
    leases = [Lease(table, 1, NodeId("n3"), 1, 60.0) for table in (TRIPS, AIRPORTS)]
    one.hears(Blocked(Hindrance(tuple(leases))))
    assert one.state.waited_for == ("n3 on airports", "n3 on trips")
