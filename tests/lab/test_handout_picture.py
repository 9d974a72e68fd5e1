"""The pictures of handouts: what was drawn is what the session came to, on paper without colours."""

from xml.etree import ElementTree

import pytest

from catalog.diagrams.lettering import lines_of, width_of
from lab.diagrams.handout import BOLD, COLUMN, NARROW, WIDTH, picture_of_session
from lab.exercises.chapter import Chapter
from lab.exercises.pictures import decisive_session
from lab.exercises.reading import BadExercise, read_chapter
from lab.exercises.shelf import books
from lab.sessions.fold import folded
from lab.sessions.replay import show
from lab.sessions.shown import SessionView

parse = ElementTree.fromstring  # what is parsed is our own
SVG = "{http://www.w3.org/2000/svg}"
CHAPTERS = {book.folder: book.chapter for book in books() if book.chapter is not None and book.chapter.screens}
OF_SESSIONS = {name: chapter for name, chapter in CHAPTERS.items() if decisive_session(chapter) is not None}
SCREEN = 'act = 1\nminutes = 5\nsetup = "one-jump"\n{}\n[[screens]]\nid = "{}"\n'


def shown_of(chapter: Chapter) -> SessionView:
    session = decisive_session(chapter)
    assert session is not None
    return folded(show(session), single_steps=False)


def words(element: ElementTree.Element, *, of: str = "") -> list[str]:
    groups = [element] if not of else [one for one in element.iter(f"{SVG}g") if one.get("class") == of]
    return [" ".join(text.text or "" for text in group.iter(f"{SVG}text")) for group in groups]


@pytest.fixture
def orphan() -> ElementTree.Element:
    return parse(picture_of_session(shown_of(CHAPTERS["01-one-jump"]), "One jump"))


def test_states_are_a_pattern_and_a_word(orphan: ElementTree.Element) -> None:
    assert words(orphan, of="version") == ["v1 by_a: absent n1", "v2 by_a: public n2"]
    versions = [one for one in orphan.iter(f"{SVG}g") if one.get("class") == "version"]
    boxes = [box for version in versions for box in version.iter(f"{SVG}rect")]
    assert [(box.get("fill"), box.get("stroke-dasharray")) for box in boxes] == [
        ("none", "3 3"),
        ("currentColor", None),
    ]


def test_steps_are_numbered_and_the_bad_ones_marked(orphan: ElementTree.Element) -> None:
    steps = words(orphan, of="event")
    assert [step.split()[0] for step in steps] == ["1", "2", "3", "4"]
    assert [step.split()[1] for step in steps[2:]] == ["△", "✗"]


def test_the_hole_and_the_verdict_are_said_in_words(orphan: ElementTree.Element) -> None:
    assert words(orphan, of="row") == ["row 1: not there by_a: 1 ✗"]
    assert (
        words(orphan, of="harm")[1]
        == "✗ Damage, orphan entry (C5) under v2: by_a has an entry for row 1, which does not exist"
    )
    assert words(orphan, of="probe") == ["v2, SELECT id FROM t WHERE a = 1: by table nothing, by index 1 ∅"]


def test_a_row_without_an_entry_and_a_tombstone_are_said_in_words() -> None:
    missing = parse(picture_of_session(shown_of(CHAPTERS["02-delete-only"]), "Delete-only"))
    assert words(missing, of="row") == ["row 1, a = 1 no entry"]
    fill = parse(picture_of_session(shown_of(CHAPTERS["04-reorganise"]), "Reorganise"))
    assert words(fill, of="row") == ["row 1, a = 2 tombstone by_a: 1 by_a: 2"]


def test_two_homes_of_a_row_are_two_boxes() -> None:
    homes = parse(picture_of_session(shown_of(CHAPTERS["11-sharding-key"]), "Homes"))
    first, second, *_ = words(homes, of="row")
    assert (first, second) == ("row 1, in the old place, a = 1", "row 1, in the new place, a = 1")


@pytest.mark.parametrize("chapter", OF_SESSIONS.values(), ids=list(OF_SESSIONS))
def test_every_chapter_has_a_picture_in_one_colour_that_is_the_same_each_time(chapter: Chapter) -> None:
    shown = shown_of(chapter)
    drawn = picture_of_session(shown, chapter.id)
    assert drawn == picture_of_session(shown_of(chapter), chapter.id)
    assert "style" not in drawn
    root = parse(drawn)
    colours = {one.get(name) for one in root.iter() for name in ("fill", "stroke")}
    assert colours <= {None, "none", "currentColor", "url(#delete-only)", "url(#write-only)"}
    assert len(words(root, of="event")) == len(shown.trace) > 0
    assert len(words(root, of="refusal")) == (shown.refused is not None)


def test_a_step_that_is_refused_says_why() -> None:
    frozen = parse(picture_of_session(shown_of(CHAPTERS["12-a-frozen-node"]), "A frozen node"))
    (refused,) = words(frozen, of="refusal")
    assert refused.startswith("✗ The next step is refused: n1: its last message arrives: COMMIT (its transaction")


@pytest.mark.parametrize("chapter", OF_SESSIONS.values(), ids=list(OF_SESSIONS))
def test_a_picture_fits_on_a_sheet(chapter: Chapter) -> None:
    box = parse(picture_of_session(shown_of(chapter), chapter.id)).get("viewBox")
    assert box is not None
    width, height = map(float, box.split()[2:])
    assert height <= width * 175 / 180 * 1.25, "letters would become too small"


def test_the_screen_that_is_drawn_must_be_there() -> None:
    with pytest.raises(BadExercise, match="drawn is 'no-such', and there is no such screen; there are first"):
        read_chapter("21-mine", SCREEN.format('drawn = "no-such"', "first"))


def test_no_screen_has_the_address_of_the_handout() -> None:
    with pytest.raises(BadExercise, match="a screen may not be called 'handout'"):
        read_chapter("21-mine", SCREEN.format("", "handout"))


def test_a_chapter_without_tasks_has_no_picture() -> None:
    assert decisive_session(read_chapter("21-mine", SCREEN.format("", "first"))) is None


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("n1 commits as v2", ["n1 commits", "as v2"], id="words are kept together"),
        pytest.param("n1 提交为 v2：插入一行", ["n1 提交为", "v2：插入一", "行"], id="a Chinese line ends anywhere"),
        pytest.param("一二三四五，六", ["一二三四", "五，六"], id="no line begins with a comma"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_lines_are_of_a_width(text: str, lines: list[str]) -> None:
    assert lines_of(text, 10) == lines
    assert all(width_of(line) <= 10 for line in lines)


@pytest.mark.parametrize("chapter", OF_SESSIONS.values(), ids=list(OF_SESSIONS))
def test_a_narrow_picture_says_the_same_within_the_width_of_a_phone(chapter: Chapter) -> None:
    wide = parse(picture_of_session(shown_of(chapter), chapter.id))
    narrow = parse(picture_of_session(shown_of(chapter), chapter.id, is_narrow=True))
    for part in ("version", "harm", "probe", "refusal"):
        assert words(narrow, of=part) == words(wide, of=part)
    assert len(words(narrow, of="event")) == len(words(wide, of="event"))
    lines = [one for one in narrow.iter(f"{SVG}text") if one.get("text-anchor") is None]
    assert all(float(one.get("x", 0)) + width_of(one.text or "") * COLUMN <= NARROW for one in lines)
    ids = [one.get("id") for picture in (wide, narrow) for one in picture.iter() if one.get("id")]
    assert len(ids) == len(set(ids)), "both stand in one page"


def test_bold_lines_end_before_the_picture_does() -> None:
    """Letters of a bold line are wider: the step that lost a message was cut off."""
    of_messenger = parse(picture_of_session(shown_of(CHAPTERS["00-new-messenger"]), "The messenger"))
    bold = [one for one in of_messenger.iter(f"{SVG}text") if one.get("font-weight") == "600" and not one.get("class")]
    assert any(len(one.text or "") > 40 for one in bold)
    assert all(float(one.get("x", 0)) + len(one.text or "") * COLUMN * BOLD <= WIDTH for one in bold)
