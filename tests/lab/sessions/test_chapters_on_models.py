"""The traces of chapters 1 to 5, replayed: which clause breaks under which version at which step, and the rows that
queries find. Danger is in brackets; entries that lead to no row with their value have a hole in the probe."""

import pytest

from lab.sessions.replay import show
from lab.sessions.shown import Severity
from tests.lab.sessions.plays import pairs, play, probed, verdicts

PUBLIC_AFTER_DELETE_ONLY = ("n1.acquire", "publish.3", "n2.acquire")
N2_WRITE_ONLY = ("publish.2", "n1.acquire", "n2.acquire", "publish.3", "n2.acquire")
SKIPPED = {"left_out": ["skipped"]}
ROW_1 = {"row 1", "a = 1 of row 1"}
ENTRY = "by_a: 1 -> 1"


def trace(taken: tuple[str, ...], setup: str, **options: object) -> list[set[str]]:
    """What is broken after each of these offers."""
    lengths = range(1, len(taken) + 1)
    return [verdicts(play(setup, *taken[:length], **options)[1]) for length in lengths]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("setup", "options", "taken", "broken"),
    [
        pytest.param(
            "one-jump", {}, ("n2.insert.1.1", "n1.delete.1.0"), [{"(C3@v1)"}, {"(C3@v1)", "C5@v2"}], id="1: orphan"
        ),
        pytest.param("one-jump", {}, ("n1.insert.1.1",), [{"C4@v2"}], id="1: missing entry"),
        pytest.param(
            "one-jump",
            {},
            ("n2.insert.1.1", "n1.update.1.2"),
            [{"(C3@v1)"}, {"(C3@v1)", "C4@v2", "C5@v2"}],
            id="1: both at once",
        ),
        pytest.param("delete-only", {}, ("n2.insert.1.1", "n1.delete.1.0"), [set(), set()], id="2: no orphan"),
        pytest.param(
            "delete-only",
            SKIPPED,
            (*PUBLIC_AFTER_DELETE_ONLY, "n1.insert.1.1"),
            [set(), set(), set(), {"C4@v3"}],
            id="2: missing entry",
        ),
        pytest.param(
            "delete-only",
            {},
            ("n1.acquire", "drain.2", "clear", "fill.1.1", "close", "publish.3", "n2.acquire", "n1.insert.1.1"),
            [*[set()] * 7, {"C4@v3"}],
            id="2: missing entry, although there was a fill",
        ),
        pytest.param(
            "delete-only",
            SKIPPED,
            (*PUBLIC_AFTER_DELETE_ONLY, "n2.insert.1.1", "n1.update.1.2"),
            [set(), set(), set(), set(), {"C4@v3"}],
            id="2: an update takes the entry away",
        ),
        pytest.param(
            "write-only",
            {},
            ("n2.insert.1.1", "n1.delete.1.0"),
            [{"(C3@v1)"}, {"(C3@v1)", "C5@v2"}],
            id="3: the orphan is back",
        ),
        pytest.param(
            "full-ladder",
            {},
            (*N2_WRITE_ONLY, "n2.insert.1.1", "n1.update.1.2"),
            [set()] * 7,
            id="3: no entry, and nobody is harmed",
        ),
        pytest.param(
            "full-ladder",
            {"left_out": ["skipped"], "rows": [1]},
            ("publish.2", "n1.acquire", "n2.acquire", "publish.3", "n1.acquire", "n2.acquire", "publish.4"),
            [*[set()] * 6, {"C4@v4"}],
            id="3: the fill left out",
        ),
        pytest.param(
            "fill", {}, ("fill.read.1.1", "n1.update.1.2", "fill.put.1.1"), [set()] * 3, id="4: the fill gives way"
        ),
        pytest.param(
            "fill",
            {"left_out": ["blind"]},
            ("fill.read.1.1", "n1.update.1.2", "fill.put.1.1"),
            [set(), set(), {"C5@v3"}],
            id="4: blind",
        ),
        pytest.param(
            "fill",
            {"left_out": ["exists-only"]},
            ("fill.read.1.1", "n1.update.1.2", "fill.put.1.1"),
            [set(), set(), {"C5@v3"}],
            id="4: it asks for the row only",
        ),
        pytest.param(
            "fill",
            {"left_out": ["seen-only"]},
            ("fill.read.1.1", "n1.delete.1.0", "fill.put.1.1"),
            [set(), set(), {"C5@v3"}],
            id="4: a delete comes back as an entry",
        ),
        pytest.param("fill", {}, ("fill.read.1.1", "n1.delete.1.0", "fill.put.1.1"), [set()] * 3, id="4: and does not"),
        pytest.param(
            "fill",
            {"left_out": ["early"], "rows": [], "begins": False},
            (
                *("publish.2", "n1.acquire", "n2.acquire", "publish.3", "clear", "fill.1.1", "n1.insert.1.1"),
                *("n1.acquire", "n2.acquire", "close", "publish.4"),
            ),
            [*[set()] * 10, {"C4@v4"}],
            id="4: the fill began before the drain",
        ),
        pytest.param(
            "two-versions",
            {"left_out": ["two-versions"]},
            ("publish.2", "publish.3", "n2.acquire", "n2.insert.1.1", "n1.delete.1.0"),
            [set(), set(), set(), {"(C3@v1)"}, {"(C3@v1)", "C5@v2", "C5@v3"}],
            id="5: three versions",
        ),
    ],
)
def test_what_breaks_after_each_step(
    setup: str, options: dict[str, object], taken: tuple[str, ...], broken: list[set[str]]
) -> None:
    assert trace(taken, setup, **options) == broken


def test_the_strip_and_the_trace_say_where_it_broke() -> None:
    session, shown = play("one-jump", "n2.insert.1.1", "n1.delete.1.0")
    cells = {row.clause: row.cells for row in shown.strip}
    inserted, deleted = session.steps.index("n2.commit") + 1, session.steps.index("n1.commit") + 1
    assert cells["C3"] == (Severity.HOLDS,) * inserted + (Severity.DANGER,) * (deleted - inserted + 1)
    assert cells["C5"] == (Severity.HOLDS,) * deleted + (Severity.DAMAGE,)
    assert all(set(row) == {Severity.HOLDS} for clause, row in cells.items() if clause not in ("C3", "C5"))
    worst = {line.id: line.severity for line in shown.trace if line.severity is not Severity.HOLDS}
    assert worst == {"n2.commit": Severity.DANGER, "n1.commit": Severity.DAMAGE}


@pytest.mark.parametrize(
    ("setup", "taken", "version", "value", "found"),
    [
        pytest.param("one-jump", ("n2.insert.1.1",), 2, 1, (("1",), ("1",)), id="as it should be"),
        pytest.param("one-jump", ("n2.insert.1.1",), 1, 1, (("1",), None), id="v1 has no index"),
        pytest.param("one-jump", ("n2.insert.1.1", "n1.delete.1.0"), 2, 1, ((), ("1 ∅",)), id="orphan"),
        pytest.param("one-jump", ("n1.insert.1.1",), 2, 1, (("1",), ()), id="by table, not by index"),
        pytest.param("one-jump", ("n2.insert.1.1", "n1.update.1.2"), 2, 1, ((), ("1 ∅",)), id="stale entry"),
        pytest.param("one-jump", ("n2.insert.1.1", "n1.update.1.2"), 2, 2, (("1",), ()), id="and a missing one"),
        pytest.param("write-only", ("n2.insert.1.1",), 2, 1, (("1",), None), id="write-only is not read"),
    ],
)
def test_what_readers_find(
    setup: str, taken: tuple[str, ...], version: int, value: int, found: tuple[tuple[str, ...], tuple[str, ...] | None]
) -> None:
    _, shown = play(setup, *taken)
    assert probed(shown, version, value) == found
    [probe] = [one for one in shown.probe if one.version == version and one.query.endswith(f"a = {value}")]
    assert probe.differs == (found[1] is not None and found[0] != found[1])


@pytest.mark.parametrize(
    ("setup", "left_out", "taken", "there"),
    [
        pytest.param(
            "one-jump", [], ("n2.insert.1.1", "n1.delete.1.0"), {f"{ENTRY} (an orphan)"}, id="1: what is left"
        ),
        pytest.param("delete-only", [], ("n2.insert.1.1",), ROW_1, id="2: a row, no entry"),
        pytest.param(
            "delete-only",
            ["skipped"],
            (*PUBLIC_AFTER_DELETE_ONLY, "n2.insert.1.1", "n1.update.1.2"),
            {"row 1", "a = 2 of row 1"},
            id="2: row with 2, no entry",
        ),
        pytest.param(
            "full-ladder",
            [],
            (*N2_WRITE_ONLY, "n2.insert.1.1", "n1.update.1.2"),
            {"row 1", "a = 2 of row 1"},
            id="3: which entries? none",
        ),
        pytest.param("fill", [], ("fill.read.1.1",), ROW_1, id="4: it has only read"),
        pytest.param(
            "fill",
            [],
            ("fill.read.1.1", "n1.update.1.2", "fill.put.1.1"),
            {"row 1", "a = 2 of row 1", "by_a: 2 -> 1", "tombstone by_a: 1"},
            id="4: the put changes nothing",
        ),
        pytest.param(
            "fill",
            ["exists-only"],
            ("fill.read.1.1", "n1.update.1.2", "fill.put.1.1"),
            {"row 1", "a = 2 of row 1", "by_a: 2 -> 1", f"{ENTRY} (an orphan)"},
            id="4: stale entry all the same",
        ),
    ],
)
def test_what_is_in_the_store(setup: str, left_out: list[str], taken: tuple[str, ...], there: set[str]) -> None:
    assert pairs(play(setup, *taken, left_out=left_out)[1]) == there


def test_the_fill_puts_what_nobody_missed() -> None:
    """Chapter 3: the entry that no version put is there when somebody reads it."""
    rest = ("n1.acquire", "drain.3", "clear", "fill.1.1", "close", "publish.4", "n1.acquire", "n2.acquire")
    _, shown = play("full-ladder", *N2_WRITE_ONLY, "n2.insert.1.1", "n1.update.1.2", *rest)
    assert pairs(shown) == {"row 1", "a = 2 of row 1", "by_a: 2 -> 1"}
    assert probed(shown, 4, 2) == (("1",), ("1",))
    assert verdicts(shown) == set()


def test_a_worker_of_the_fill_shows_what_it_has_in_hand() -> None:
    _, shown = play("fill", "fill.read.1.1")
    [message] = shown.cluster.messages
    assert (message.sender, message.receiver) == ("fill", "store")
    assert str(message.text) == "the entry 1 of row 1 is to be put"


def test_a_third_version_is_refused_by_name() -> None:
    """Chapter 5: the first thing to try."""
    _, shown = play("two-versions", "publish.2")
    [offer] = [offer for offer in shown.offers if offer.id == "publish.3"]
    assert (str(offer.why_not), offer.rule) == ("n1 still leases v1, n2 still leases v1", "L7")


def test_what_a_version_cannot_see_is_marked() -> None:
    _, shown = play("one-jump", "n2.insert.1.1")
    unseen = {pair.sort: pair.unseen_by for pair in shown.cluster.pairs}
    assert unseen == {"row": (), "value": (), "entry": (1,)}


def test_pairs_stand_beside_their_row_with_what_changed() -> None:
    session, shown = play("one-jump", "n2.insert.1.1", "n1.update.1.2")
    changed = [(pair.sort, pair.row, pair.difference.value) for pair in shown.cluster.pairs]
    assert changed == [("row", "1", ""), ("value", "1", "~"), ("entry", "1", "")]
    first = show(session, session.steps.index("n2.commit") + 1)
    assert {pair.difference.value for pair in first.cluster.pairs} == {"+"}
    deleted = play("one-jump", "n2.insert.1.1", "n1.delete.1.0")[1]
    assert [(pair.sort, pair.difference.value) for pair in deleted.cluster.pairs] == [
        *(("row", "-"), ("value", "-"), ("entry", ""))
    ]


def test_going_back_keeps_the_future() -> None:
    session, end = play("one-jump", "n2.insert.1.1", "n1.delete.1.0")
    back = show(session, 2)
    assert (back.at, back.trace, back.strip) == (2, end.trace, end.strip)
    assert back.cluster.pairs == ()
    assert show(session, 1_000).at == end.at
