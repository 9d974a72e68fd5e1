"""How hard a run works is decided by what others feel of it: against models of writers, look by look."""

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import pytest

from leases.beats import BEAT_S, Beat, Beats, MalformedBeats, from_text, of_late
from nodes.metrics import Meter
from spark_tasks.runs.feedback import WORKS_FIRST, Feedback, Felt, Target, Verdict, Why, are_idle, felt

Load = Callable[[float, float], tuple[float, float, int]]
"""Statements per second, the slowest in ms, and those under way, at a time and a share of work."""


@dataclass
class World:
    """One node with a load, and a run beside it that works as it is told, a beat later."""

    load: Load
    feedback: Feedback = field(default_factory=Feedback)
    target: Target = field(default_factory=Target)
    now: float = 100.0
    works: float = 0.0
    own: Beats = field(default_factory=Beats)
    statements: int = 0
    seen: list[tuple[float, Verdict]] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        for _ in range(9):
            self._pass()

    def _pass(self) -> None:
        per_s, slow_ms, running = self.load(self.now, self.works)
        self.per_s.append(per_s)
        self.statements += round(per_s * BEAT_S)
        self.now += BEAT_S
        self.own.beat(self.now, statements=self.statements, slowest_ms=slow_ms, running=running)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / BEAT_S)):
            verdict = self.feedback.hear([list(self.own.kept)], self.target, self.now)
            self.seen.append((self.now, verdict))
            self.works = verdict.works
            self._pass()

    def worked(self, since: float) -> float:
        """The share of its time that it worked since then."""
        shares = [verdict.works for at, verdict in self.seen if at >= since]
        return sum(shares) / len(shares)

    def throughput(self, since: float) -> float:
        count = round((self.now - since) / BEAT_S)
        return sum(self.per_s[-count:]) / count


def never_pausing(harm: float, noise: float = 0.04) -> Load:
    """Writers that take what the processors give: all of the run's time takes away `harm` of their statements."""
    chance = random.Random(1)
    return lambda _now, works: (1200 * (1 - harm * works) * chance.gauss(1, noise), 8 + 10 * works, 4)


def paced(slower_ms: float) -> Load:
    """A writer that sends a statement now and then: it only sees how long each takes."""
    return lambda _now, works: (130.0, 3 + slower_ms * works, 0)


@pytest.mark.parametrize("harm", [0.3, 0.5, 0.8])
def test_writers_that_never_pause_keep_what_they_are_promised(harm: float) -> None:
    world = World(never_pausing(harm))
    world.run(5)
    since = world.now
    world.run(60)
    assert world.throughput(since) >= 0.85 * 1200
    assert world.worked(since) >= 0.4 * 0.15 / harm, "and the run has what is left"


def test_a_paced_writer_that_hardly_notices_slows_nothing_down() -> None:
    world = World(paced(slower_ms=12))
    world.run(2)
    assert world.works == 1.0
    assert World(paced(slower_ms=12)).feedback.hear([list(world.own.kept)], Target(), 0).works > 0, "at once"


def test_latency_alone_is_reason_enough() -> None:
    world = World(paced(slower_ms=80))
    world.run(20)
    assert 0.1 <= world.works <= 0.3
    assert Why.SLOWER in {verdict.why for _, verdict in world.seen}
    tolerant = World(paced(slower_ms=80), target=Target(slower_ms_max=200))
    tolerant.run(5)
    assert tolerant.works == 1.0, "an operator may allow it"


def test_load_that_stops_frees_the_run_within_a_second() -> None:
    stops_at = 120.0
    busy = never_pausing(0.8)
    world = World(lambda now, works: busy(now, works) if now < stops_at else (0, 0, 0))
    world.run(30)
    freed = next(at for at, verdict in world.seen if at > stops_at and verdict.works == 1.0)
    assert freed <= stops_at + 0.75
    assert world.works == 1.0


def test_writers_that_all_wait_are_not_taken_for_none() -> None:
    """Nothing ends, and much is under way: the worst that a run can do to others."""
    begins = 104.0
    busy = never_pausing(0.5)
    world = World(lambda now, works: busy(now, works) if now < begins or not works else (0, 0, 4))
    world.run(6)
    assert all(verdict.works < 1.0 for at, verdict in world.seen if at > begins)


def test_load_that_goes_down_by_itself_is_found_out_by_a_rest() -> None:
    full, half = never_pausing(0.5), paced(1)
    world = World(lambda now, works: full(now, works) if now < 120 else half(now, works))
    world.run(45)
    assert world.works == 1.0, "who stayed does not mind"


def test_load_that_comes_is_looked_at_before_more_is_done() -> None:
    comes_at = 110.0
    busy = never_pausing(0.8)
    world = World(lambda now, works: busy(now, works) if now >= comes_at else (0, 0, 0))
    world.run(20)
    after = [verdict for at, verdict in world.seen if at > comes_at]
    assert after[0].why is Why.LOOKING
    assert world.worked(comes_at + 3) < 0.4


def test_a_run_always_moves() -> None:
    world = World(lambda _now, works: (1000 if not works else 10, 500 if works else 1, 4))
    world.run(60)
    assert world.worked(110) >= 1 / 32


def test_a_long_statement_alone_slows_nothing_down() -> None:
    """A COPY that waits for its client, a query of an hour: nothing ends, nor would it without the run."""
    world = World(lambda _now, _works: (0, 0, 1))
    world.run(10)
    assert world.works == 1.0
    assert Why.FEWER not in {verdict.why for _, verdict in world.seen}


def test_load_that_comes_beside_a_long_statement_is_looked_at() -> None:
    comes_at = 110.0
    busy = never_pausing(0.8)
    world = World(lambda now, works: busy(now, works) if now >= comes_at else (0, 0, 1))
    world.run(20)
    assert world.worked(comes_at + 4) < 0.4


def test_load_that_changes_is_looked_at_also_by_who_works_all_the_time() -> None:
    changes_at, busy = 110.0, never_pausing(0.8)
    world = World(lambda now, works: busy(now, works) if now >= changes_at else (1200, 8, 4))
    world.run(changes_at - world.now)
    assert world.works == 1.0
    slow = World(lambda now, works: (130, 5 + 80 * works, 1) if now >= changes_at else (130, 100, 1))
    slow.run(changes_at - slow.now)
    assert slow.works == 1.0, "slow by themselves"
    slow.run(120)
    assert slow.worked(changes_at + 70) < 0.5, "and then by the run"


def test_what_was_known_before_a_silence_of_nodes_is_looked_at_again() -> None:
    world = World(never_pausing(0.8))
    world.run(10)
    world.feedback.hear_nothing()
    world.run(BEAT_S)
    assert world.seen[-1][1].why is Why.LOOKING


@pytest.mark.parametrize("load", [
    pytest.param(paced(slower_ms=12), id="a writer that hardly notices"),
    pytest.param(paced(slower_ms=80), id="one that does"),
    pytest.param(never_pausing(0.8), id="writers that never pause"),
])  # fmt: skip
def test_the_next_run_of_a_change_leads_on_with_what_the_one_before_found(load: Load) -> None:
    """Or a verification would begin as if it knew nothing, and take the time beside its fill for the time before."""
    world = World(load)
    world.run(20)
    found, next_one = Verdict.from_json(asdict(world.seen[-1][1])), Feedback()
    next_one.lead_on(found, world.now)
    assert (found, next_one.before) == (world.seen[-1][1], world.feedback.before)
    world.feedback, since, worked = next_one, world.now, world.worked(world.now - 5)
    world.run(BEAT_S)
    assert world.works == found.works, "at once"
    world.run(20)
    assert world.worked(since) == pytest.approx(worked, rel=0.4)


@pytest.mark.parametrize("found", [
    pytest.param(Verdict(1.0, Why.NOBODY), id="nobody was there"),
    pytest.param(Verdict(0.2, Why.UNKNOWN), id="nodes said nothing"),
    pytest.param(Verdict(0.0, Why.LOOKING, Felt(100, 5)), id="it was looking"),
])  # fmt: skip
def test_a_run_that_found_nothing_leaves_nothing_to_lead_on_with(found: Verdict) -> None:
    world = World(never_pausing(0.8))
    world.feedback.lead_on(found, world.now)
    world.run(BEAT_S)
    assert world.works == WORKS_FIRST


# --- beats


def test_beats_say_what_lay_between_them() -> None:
    meter = Meter(0.0)
    for number in range(12):
        for _ in range(number):
            meter.finished(1.0, is_error=False, beat_s=0.001 * number)
        meter.finished(1.0, is_error=False)
        meter.beat(10 + BEAT_S * number, running=0)
    beats = from_text(meter.beats.to_text())
    assert beats == list(meter.beats.kept)
    assert beats[-1].at - beats[0].at == 2.0
    assert [beat.slowest_ms for beat in beats] == [3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert [beat.at for beat in of_late(beats, 0.5)] == [12.25, 12.5, 12.75]
    assert felt([beats, beats], 0.5) == Felt(2 * (10 + 11) / 0.5, 10)


def test_idle_is_who_did_nothing_and_does_nothing() -> None:
    still = [Beat(n * BEAT_S, 7, 0.0, 0) for n in range(9)]
    assert are_idle([still], 2)
    assert not are_idle([still, [*still[:-1], Beat(2.0, 8, 1.0, 0)]], 0.5)
    assert not are_idle([[*still[:-1], Beat(2.0, 7, 0.0, 1)]], 0.5)


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", "[1]", '[["a"]]', "{}x", b"\xff"),
        *('[["a", 1, 2, 3]]', "[[NaN, 1, 2, 3]]", "[[1, 2, Infinity, 3]]", "[[1, -1, 2, 3]]", f"[[1, {9**400}, 2, 3]]"),
    ],
)
def test_what_another_release_wrote_has_no_beats(text: str | bytes) -> None:
    with pytest.raises(MalformedBeats):
        from_text(text)


def test_a_node_that_begins_anew_did_nothing_less() -> None:
    """Its counts go back; nobody sees both, but nothing is less than none."""
    beats: Sequence[Beat] = [Beat(1.0, 900, 1.0, 0), Beat(1.25, 3, 1.0, 0)]
    assert felt([beats], 1.0).per_s == 0
