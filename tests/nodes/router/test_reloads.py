"""The machine of reloads: one at a time, nobody satisfied by less than it needs, nobody left waiting."""

from hypothesis import given
from hypothesis import strategies as st

from nodes.router import reloads
from nodes.router.reloads import Ask, Failed, Known, Leave, Load, Loaded, Missing, Outcome, Tick, Use, Wake, WakeAt
from tests.rounds import drawn

V4, V5, V6 = Known(7, 4), Known(7, 5), Known(7, 6)


def refused(request: int, than: Known | None = V4, deadline: float = 10.0) -> Ask:
    return Ask(request, than, deadline, is_patient=True)


def misplanned(request: int, than: Known | None = V4) -> Ask:
    return Ask(request, than, 10.0, is_patient=False)


def run(*events: tuple[float, reloads.Event]) -> list[reloads.Effect]:
    """The effects of events at their times, alarms left out."""
    state, effects = reloads.Reloads(), []
    for now, event in events:
        state, found = reloads.step(state, event, now)
        effects += [effect for effect in found if not isinstance(effect, WakeAt)]
    return effects


def test_a_hundred_refused_at_once_cost_one_reload():
    effects = run(*((0.0, refused(n)) for n in range(100)), (0.1, Loaded(V5)))
    assert effects == [Load(), *(Wake(n, Outcome.NEWER, V5) for n in range(100))]


def test_who_comes_when_the_newer_version_is_known_waits_for_nothing():
    effects = run((0.0, refused(1)), (0.1, Loaded(V5)), (0.2, refused(2)), (0.2, misplanned(3)))
    assert effects[2:] == [Wake(2, Outcome.NEWER, V5), Wake(3, Outcome.NEWER, V5)]


def test_a_reload_that_began_before_a_request_asked_satisfies_it_only_with_something_newer():
    effects = run((0.0, refused(1)), (0.1, refused(2, V5)), (0.2, Loaded(V5)), (0.3, Loaded(V6)))
    assert effects == [Load(), Wake(1, Outcome.NEWER, V5), Load(), Wake(2, Outcome.NEWER, V6)]


def test_a_request_that_could_not_be_planned_takes_the_word_of_a_reload_of_its_own():
    effects = run((0.0, misplanned(1)), (0.1, misplanned(2)), (0.2, Loaded(V4)), (0.3, Loaded(V4)))
    assert effects == [Load(), Wake(1, Outcome.NOTHING_NEWER, V4), Load(), Wake(2, Outcome.NOTHING_NEWER, V4)]


def test_a_refused_request_waits_until_the_newer_version_is_published():
    effects = run((0.0, refused(1)), (0.1, Loaded(V4)), (0.11, Tick()), (0.13, Tick()), (0.2, Loaded(V5)))
    assert effects == [Load(), Load(), Wake(1, Outcome.NEWER, V5)]


def test_a_request_waits_no_longer_than_its_own_deadline_and_the_others_go_on_waiting():
    effects = run((0.0, refused(1, deadline=1.0)), (0.0, refused(2, deadline=5.0)), (1.0, Tick()), (1.5, Loaded(V5)))
    assert effects == [Load(), Wake(1, Outcome.LATE), Wake(2, Outcome.NEWER, V5)]


def test_a_failed_reload_wakes_everybody_with_its_cause_and_the_next_request_tries_again():
    effects = run((0.0, refused(1)), (0.1, refused(2)), (0.2, Failed("no answer")), (0.3, refused(3)))
    assert effects == [
        Load(), Wake(1, Outcome.FAILED, None, "no answer"), Wake(2, Outcome.FAILED, None, "no answer"), Load(),
    ]  # fmt: skip


def test_an_older_version_is_never_installed():
    effects = run((0.0, Use(V6)), (0.1, Use(V5)), (0.1, refused(1)), (0.2, refused(2, V6)), (0.3, Loaded(V5)))
    assert effects == [Wake(1, Outcome.NEWER, V6), Load()]


def test_another_table_under_the_name_is_newer_whatever_its_version():
    assert run((0.0, refused(1)), (0.1, Loaded(Known(9, 1))))[-1] == Wake(1, Outcome.NEWER, Known(9, 1))


def test_a_name_that_no_table_bears_is_remembered_briefly():
    """Whoever asks meanwhile waits for nothing, however short its time is."""
    asked = [(n / 100, Ask(n, None, n / 100 + 0.001, is_patient=False)) for n in range(1, 15)]
    effects = run((0.0, misplanned(99, None)), (0.001, Missing()), *asked)
    assert effects == [Load(), *(Wake(n, Outcome.UNKNOWN) for n in (99, *range(1, 15)))]
    assert run((0.0, misplanned(99, None)), (0.001, Missing()), (0.21, misplanned(1, None)))[2:] == [Load()]


def test_a_request_that_a_storage_refused_does_not_believe_that_the_name_is_unknown():
    effects = run(
        (0.0, misplanned(99, None)), (0.001, Missing()), (0.1, refused(1)), (0.21, Tick()), (0.22, Loaded(V5))
    )
    assert effects[2:] == [Load(), Wake(1, Outcome.NEWER, V5)]


def test_who_leaves_is_not_woken():
    assert run((0.0, refused(1)), (0.1, Leave(1)), (0.2, Loaded(V5))) == [Load()]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(0, 2), st.booleans(), st.sampled_from([0.05, 0.5, 3.0])),
        st.tuples(st.sampled_from(["publish", "read", "answer", "fail", "leave", "seen", "drop"])),
        st.tuples(st.just("wait"), st.sampled_from([0.001, 0.03, 0.3])),
    ),
    max_size=60,
)


@drawn(100, 10000)
@given(steps=STEPS)
def test_whatever_comes_in_whatever_order(steps: list[tuple]):
    """A catalog that publishes, reloads that read it at some moment, requests that fail with what they last knew."""
    state, now, published, read, load_at = reloads.Reloads(), 0.0, Known(7, 1), None, None
    asks: dict[int, Ask] = {}
    asked_at: dict[int, float] = {}
    woken: dict[int, Wake] = {}
    newest: dict[int, int] = {}
    last_load_began = -1.0

    def send(event: reloads.Event) -> None:
        nonlocal state, load_at, read, last_load_began
        was_loading = load_at is not None
        if isinstance(event, Loaded | Missing | Failed):
            assert was_loading
            load_at, read, was_loading = None, None, False
        state, effects = reloads.step(state, event, now)
        for effect in effects:
            match effect:
                case Load():
                    assert load_at is None, "two reloads at once"
                    load_at = last_load_began = now
                case Wake():
                    request = effect.request
                    assert request in asks, "nobody asked"
                    assert request not in woken, "woken twice"
                    woken[request] = effect
                    ask = asks[request]
                    if effect.outcome is Outcome.NEWER:
                        assert effect.version is not None
                        assert reloads.is_newer(effect.version, ask.than)
                    elif effect.outcome is Outcome.NOTHING_NEWER:
                        assert not ask.is_patient
                        assert isinstance(event, Loaded)
                    elif effect.outcome is Outcome.LATE:
                        assert ask.deadline <= now
                    else:
                        assert isinstance(event, Missing | Failed)
        if state.newest is not None:
            table_id, version = state.newest
            assert version >= newest.get(table_id, 0), "an older version was installed"
            newest[table_id] = version

    for step in steps:
        match step:
            case ("ask", back, is_patient, for_s):
                number = len(asks)
                than = Known(7, max(1, published.version - back))
                asks[number], asked_at[number] = Ask(number, than, now + for_s, is_patient), now
                send(asks[number])
            case ("publish",):
                published = Known(7, published.version + 1)
            case ("read",) if load_at is not None:
                read = read or published
            case ("answer",) if load_at is not None:
                send(Loaded(read or published))
            case ("fail",) if load_at is not None:
                send(Failed("broken"))
            case ("drop",) if load_at is not None:
                send(Missing())
            case ("seen",):
                send(Use(published))
            case ("leave",) if set(asks) - set(woken):
                number = min(set(asks) - set(woken))
                send(Leave(number))
                woken[number] = Wake(number, Outcome.LATE)
            case ("wait", seconds):
                now += seconds
                if state.wake_at is not None and state.wake_at <= now:
                    send(Tick())
    for _ in range(200):  # nobody is left waiting, and no alarm is forgotten
        if load_at is not None:
            send(Loaded(published))
        elif state.wake_at is not None:
            now = max(now, state.wake_at)
            send(Tick())
    assert set(woken) == set(asks)
    assert state.is_idle
