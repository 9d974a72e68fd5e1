"""Golden pictures: what lanes over time look like in the cases that a lecture is about."""

from __future__ import annotations

import textwrap

from tests.leases.staircase.drawn import Mark, Work, facts, picture, steady, text, use, version

LADDER = [
    version(1, -100.0),
    version(2, 10.000, "delete-only"),
    version(3, 10.050, "write-only"),
    version(4, 10.400),
]


def walk(node: str, lag: float, *, steps: int = 4) -> list[object]:
    """A node that comes to each version `lag` after it was published, and leaves the one before 2 ms later."""
    times = [-50.0] + [one.published_at + lag for one in LADDER[1:steps]]
    ends: list[float | None] = [time + 0.002 for time in times[1:]] + [None]
    return [use(node, number + 1, began, ended) for number, (began, ended) in enumerate(zip(times, ends, strict=True))]


def drawn(**more: object) -> str:
    return text(picture(facts(**more)))  # type: ignore[arg-type]


def golden(expected: str) -> str:
    return textwrap.dedent(expected).strip("\n")


def test_three_nodes_walk_from_version_to_version() -> None:
    uses = [*walk("n1", 0.003), *walk("n2", 0.008), *walk("n3", 0.020)]
    work = Work(1, 9.99, 10.45, "done")
    assert drawn(versions=LADDER, uses=uses, end=20.0, works=(work,)) == golden("""
        flags   |             2          3            4                      |
        n1      |111111111111112222222222233333333333333444444444444444444444|
        n2      |111111111111111112222222222333333333333334444444444444444444|
        n3      |111111111111111111112222222222333333333333334444444444444444|
        folds   |~~~~~~~~~~~                                     ~~~~~~~~~~~ |
        """)


def test_a_dead_node_is_hatched_until_its_lease_ended() -> None:
    """n3 was killed under v1: v3 has to wait until its lease is over; started again, it goes on with the others."""
    late = [version(1, -100.0), version(2, 10.0, "delete-only"), version(3, 34.01, "write-only"), version(4, 34.1)]
    uses = [
        *(use(n, 1, -50.0, 10.01 + lag) for n, lag in (("n1", 0.0), ("n2", 0.005))),
        *(use(n, 2, 10.004 + lag, 34.02) for n, lag in (("n1", 0.0), ("n2", 0.005))),
        *(use(n, 3, 34.015 + lag, 34.11) for n, lag in (("n1", 0.0), ("n2", 0.005))),
        *(use(n, 4, 34.105 + lag) for n, lag in (("n1", 0.0), ("n2", 0.005))),
        use("n3", 1, -50.0, 34.0, until=34.0),
        use("n3", 4, 40.0),
    ]
    marks = (Mark(8.0, "killed", "n3"), Mark(11.0, "silent", "n3"), Mark(39.5, "joined", "n3"))
    assert drawn(versions=late, uses=uses, end=44.0, marks=marks) == golden("""
        flags   |               2              3     4                       |
        n1      |111111111111111122222222222222233333344444444444444444444444|
        n2      |111111111111111112222222222222223333334444444444444444444444|
        n3      |11111111K////////////////////                 J     44444444|
        folds   |~~~~~~~~~~~~~~~    ~~~~~~~~~          ~~~~~~~~      ~~~~~~~ |
        """)


def test_a_node_that_died_before_the_window_is_hatched_from_its_start() -> None:
    uses = [*walk("n1", 0.003, steps=2), use("n2", 1, -50.0, 18.0, until=18.0)]
    marks = (Mark(-400.0, "killed", "n1"), Mark(-390.0, "joined", "n1"), Mark(-12.0, "killed", "n2"))
    assert drawn(versions=LADDER[:2], uses=uses, end=24.0, marks=marks) == golden("""
        flags   |                   2                                        |
        n1      |111111111111111111111222222222222222222222222222222222222222|
        n2      |//////////////////////////////////////////                  |
        folds   |~~~~~~~~~~~~~~~~~~~   ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ |
        """)


def test_a_frozen_node_that_thaws_goes_on() -> None:
    uses = [
        *walk("n1", 0.003),
        use("n2", 1, -50.0, 10.012),
        use("n2", 2, 10.005, 10.060),
        use("n2", 3, 10.055, 16.1),
        use("n2", 4, 16.05),
    ]
    marks = (Mark(10.2, "frozen", "n2"), Mark(16.0, "thawed", "n2"))
    assert drawn(versions=LADDER, uses=uses, end=26.0, marks=marks) == golden("""
        flags   |          2      3            4                             |
        n1      |111111111112222222333333333333344444444444444444444444444444|
        n2      |1111111111112222222333333F////////////////T33444444444444444|
        folds   |~~~~~~~~~~                      ~~~~~~~~~~       ~~~~~~~~~~ |
        """)


def test_three_changes_after_each_other() -> None:
    """The time between them is folded: each has room enough."""
    versions = [version(1, -100.0)] + [
        version(2 + 2 * change + step, at + 0.1 * step, ("delete-only", "public")[step])
        for change, at in enumerate((10.0, 600.0, 1900.0))
        for step in (0, 1)
    ]
    uses = []
    for one, following in zip(versions, [*versions[1:], None], strict=True):
        ended = None if following is None else following.published_at + 0.01
        uses += [use(node, one.version, one.published_at + 0.005, ended) for node in ("n1", "n2")]
    works = tuple(Work(n, at, at + 0.2, "done") for n, at in ((1, 10.0), (2, 600.0), (3, 1900.0)))
    assert drawn(versions=versions, uses=uses, end=1910.0, works=works) == golden("""
        flags   |      2   3              4   5              6    7          |
        n1      |111111122223333333333333334444555555555555555666677777777777|
        n2      |111111122223333333333333334444555555555555555666677777777777|
        folds   |~~~~~~         ~~~~~~~~~~         ~~~~~~~~~~         ~~~~~~ |
        """)


def test_a_node_that_joins_late_has_no_bars_before() -> None:
    uses = [*walk("n1", 0.003), use("n9", 3, 10.3, 10.41), use("n9", 4, 10.405)]
    marks = (Mark(10.25, "joined", "n9"),)
    assert drawn(versions=LADDER, uses=uses, end=20.0, marks=marks) == golden("""
        flags   |              2      3                   4                  |
        n1      |111111111111111222222233333333333333333333344444444444444444|
        n9      |                              J    3333333334444444444444444|
        folds   |~~~~~~~~~~~~~~                               ~~~~~~~~~~~~~~ |
        """)


def test_a_gap_of_the_recorder_is_a_gap_of_the_curve() -> None:
    """Twenty seconds that nobody recorded: two stretches, and no line between them."""
    seconds = (*steady(1, 10), *steady(31, 40, rate=200.0))
    shown = picture(facts([version(1, -5.0)], [use("n1", 1, -4.0)], end=40.0, seconds=seconds))
    [curve] = shown["rates"]["curves"]
    assert [len(line.split()) for line in curve["lines"]] == [10, 10]
    assert [line.split()[0].split(",")[1] for line in curve["lines"]] == ["0.0", "50.0"]
    assert [len(one["lines"]) for one in shown["latencies"]["curves"]] == [2, 2]
