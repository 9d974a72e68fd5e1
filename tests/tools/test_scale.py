"""Cost against size: the model finds what made the numbers, and the page shows what was measured."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.bench.scale import page, points
from tools.bench.scale.model import COSTS, fit, models
from tools.bench.scale.plot import plot
from tools.bench.scale.points import Point

SIZES = (10_000, 100_000, 1_000_000)


def point(rows: int) -> Point:
    part = rows / 1e6
    return Point(rows, 3, 1 + 8 * part, 3 * part, 0.5 + 14 * part, 300 + 90 * part, 1200 + 90 * part, 210 * part, "m")


def test_a_line_is_found_again() -> None:
    found = fit([(rows, 0.8 + 7.5 * rows / 1e6) for rows in SIZES])
    assert (found.fixed, found.per_million, found.error) == pytest.approx((0.8, 7.5, 0.0), abs=1e-6)
    assert found.at(10_000_000) == pytest.approx(75.8)


def test_a_small_size_counts_as_much_as_a_large_one() -> None:
    """By absolute errors the fixed part would drown in the noise of a million rows."""
    found = fit([(10_000, 1.0), (100_000, 1.8), (1_000_000, 11.0)])
    assert found.fixed == pytest.approx(0.9, abs=0.1)
    assert found.error < 0.1


@pytest.mark.parametrize(
    ("values", "fixed", "per_million"),
    [
        pytest.param([0.1, 2.0, 30.0], 0.0, None, id="dearer by the row: no negative start"),
        pytest.param([5.0, 4.0, 3.0], None, 0.0, id="cheaper when larger: no negative rows"),
        pytest.param([7.0], 0.0, 700.0, id="one size"),
    ],
)
def test_no_part_is_negative(values: list[float], fixed: float | None, per_million: float | None) -> None:
    found = fit(list(zip(SIZES, values, strict=False)))
    assert fixed is None or found.fixed == fixed
    assert per_million is None or found.per_million == pytest.approx(per_million)
    assert min(found.fixed, found.per_million) >= 0


def test_what_was_measured_is_kept_and_shown(tmp_path: Path) -> None:
    kept, written, picture = tmp_path / "kept.json", tmp_path / "page.md", tmp_path / "picture.svg"
    assert points.read(kept) == {}
    points.write([point(rows) for rows in reversed(SIZES)], kept)
    found = list(points.read(kept).values())
    assert [one.rows for one in found] == [*SIZES]
    written.write_text(f"Before.\n\n{page.BEGIN}\n\nof old\n\n{page.END}\n\nAfter.\n")
    for _ in range(2):
        page.write_page(found, written, picture)
    text = written.read_text()
    assert (text.startswith("Before.\n"), text.endswith("After.\n"), "of old" in text) == (True, True, False)
    assert "| 100,000 | 1.80 s | 0.30 s | 1.9 s | 309 MB | 1,209 MB | 21.0 MB | 3 |" in text
    assert "| submit to public | 1.0 s | 8.0 s | 0 % | 81 s | 801 s |" in text
    drawn = ElementTree.fromstring(picture.read_text())  # noqa: S314
    assert len([one for one in drawn.iter() if one.tag.endswith("circle")]) == len(SIZES) * len(COSTS)


def test_dots_lie_on_their_line_within_the_picture() -> None:
    found = [point(rows) for rows in SIZES]
    drawn = ElementTree.fromstring(plot(found, models(found)))  # noqa: S314
    for one in drawn.iter():
        if one.tag.endswith("circle"):
            assert 0 < float(one.attrib["cx"]) < 960
            assert 0 < float(one.attrib["cy"]) < 300


def test_the_page_in_the_docs_has_a_place_for_it() -> None:
    text = page.PAGE.read_text()
    assert text.count(page.BEGIN) == text.count(page.END) == 1
