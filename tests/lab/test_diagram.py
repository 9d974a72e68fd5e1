"""A trace as SVG: well formed, the same each time, nothing that a strict content policy forbids."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command

from catalog.diagrams.sequence import Event, draw
from lab.cluster.control_plane import Without
from lab.diagrams.traces import picture_of_answer, picture_of_run
from lab.simulator.events import Event as Line
from lab.simulator.invariants import Memory
from lab.simulator.simulation import replay
from tests.lab.explorer.models import answer_to

parse = ElementTree.fromstring  # what is parsed is our own
SVG = "{http://www.w3.org/2000/svg}"


def words(element: ElementTree.Element) -> str:
    return " ".join(text.text or "" for text in element.iter(f"{SVG}text"))


def test_each_step_of_a_counterexample_is_a_line_with_its_id_and_sentence() -> None:
    answer = answer_to("fill-puts-blindly")
    drawn = parse(picture_of_answer(answer, alone=False))
    groups = [group for group in drawn.iter(f"{SVG}g") if group.get("class") == "event"]
    assert [group.get("data-step") for group in groups][:3] == ["given.1.-", "publish.2", "n1.acquire"]
    assert len(groups) == len(answer.steps)
    for group, sentence in zip(groups, answer.sentences, strict=True):
        assert words(group).split()[1:] == sentence.split()
    assert [text.text for text in drawn.iter(f"{SVG}text") if text.get("class") == "lane"] == [
        "n1",
        "n2",
        "executor",
        "fill",
        "versions",
        "store",
    ]


def test_what_is_broken_stands_at_the_end_and_not_by_colour_alone() -> None:
    drawn = parse(picture_of_answer(answer_to("fill-puts-blindly")))
    (wrong,) = [group for group in drawn.iter(f"{SVG}g") if group.get("class") == "wrong"]
    assert words(wrong).startswith("✗ C5 under v3: index by_a has an entry for row id = 1")


def test_in_a_page_nothing_is_styled_inline_and_strokes_take_the_colour_of_the_text() -> None:
    drawn = picture_of_answer(answer_to("fill-puts-blindly"), alone=False)
    assert "style" not in drawn
    colours = {e.get(a) for e in parse(drawn).iter() for a in ("fill", "stroke")}
    assert colours == {None, "none", "currentColor"}
    assert "prefers-color-scheme: dark" in picture_of_answer(answer_to("fill-puts-blindly"), alone=True)


def test_the_same_trace_is_the_same_text() -> None:
    first, second = (picture_of_answer(answer_to("drop-without-delete")) for _ in range(2))
    assert first == second


def test_words_are_escaped() -> None:
    drawn = draw("a < b", ["n1"], [Event("n1", 'n1."x"', "<b> & c")], [], alone=False)
    assert words(parse(drawn)).endswith("<b> & c")


LINES = (
    "table users (id int primary key, name text)",
    "n1: take users",
    "drop index i0",
    "create index i0 on users (name)",
)


def test_a_run_is_drawn_with_what_the_cluster_printed_and_refusals_are_crossed() -> None:
    outcome = replay([Line(line) for line in LINES], frozenset(), Memory(), to_end=False)
    drawn = parse(picture_of_run(outcome, [f"without {Without.PURGE.value}"]))
    groups = [words(group) for group in drawn.iter(f"{SVG}g")]
    assert len(groups) == 5
    assert groups[2].startswith("3 n1: take users; n1: leased users@1")
    assert groups[3] == "✗ 4 drop index i0; error: there is no index i0"


def test_both_commands_write_a_file(tmp_path: Path) -> None:
    for name, args in (("explore", ("--variant", "index-in-one-step")), ("simulate", ("--seed", "1", "--events", "5"))):
        path = tmp_path / f"{name}.svg"
        with pytest.raises(SystemExit):
            call_command(name, *args, "--json", "--svg", str(path))
        assert parse(path.read_text(encoding="utf-8")).tag == f"{SVG}svg"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"cannot write .*nowhere/x.svg"):
        call_command("explore", "--variant", "index-in-one-step", "--svg", str(tmp_path / "nowhere/x.svg"))
