"""Links: what goes in comes out, a changed rule costs only the steps it forbids, and nobody's text does harm."""

import base64
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.explorer.variants import all_variants
from lab.sessions import session as sessions
from lab.sessions.replay import show
from lab.sessions.session import LINK_CHARACTERS_MAX, STEPS_MAX, BadLink, BadSession, Session, decode, encode
from tests.lab.sessions.plays import play
from tests.rounds import drawn
from tools.bench.stage import long_session

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12)
VALUES = st.one_of(
    NAMES, st.integers(-999, 999), st.booleans(), st.lists(st.one_of(NAMES, st.integers(0, 9)), max_size=4)
)
SESSIONS = st.builds(
    Session,
    NAMES,
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.frozensets(NAMES, max_size=4),
    st.lists(NAMES, max_size=20).map(tuple),
)


@drawn(few=30, many=100)
@given(SESSIONS, st.data())
def test_a_link_holds_its_session(session: Session, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(session.steps)))
    linked = decode(encode(session, at))
    assert (linked.session, linked.at, linked.has_other_rules) == (session, at, False)


def test_brackets_in_names_are_names() -> None:
    session = Session("[" * 9, {'"{': "\\[{"}, frozenset(["]"]), ("[" * 9, '\\"[{', "{[" * 4))
    assert decode(encode(session, 3)).session == session


def test_the_longest_session_of_a_model_fits_into_a_link() -> None:
    for name in ("full-ladder", "placement"):
        session = long_session(name, seed=1)
        assert len(session.steps) == STEPS_MAX
        assert len(encode(session, 100)) < LINK_CHARACTERS_MAX / 4


def test_a_link_is_for_urls() -> None:
    link = encode(play("one-jump", "n2.insert.1.1")[0], 2)
    assert set(link) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_a_link_with_other_rules_says_so_and_shows_its_longest_part(monkeypatch: pytest.MonkeyPatch) -> None:
    session, _ = play("two-versions", "publish.2", "publish.3", left_out=["two-versions"])
    monkeypatch.setattr(sessions, "rules", lambda: "of yesterday")
    link = encode(Session("two-versions", steps=(*session.steps, "n1.begin")), 3)
    monkeypatch.undo()
    linked = decode(link)
    assert linked.has_other_rules
    shown = show(linked.session, linked.at)
    assert shown.at == 1
    assert [line.id for line in shown.trace] == ["publish.2"]
    assert shown.refused is not None
    assert (shown.refused.at, shown.refused.step) == (1, "publish.3")
    assert str(shown.refused.why) == "n1 still leases v1, n2 still leases v1"


def body(**changes: object) -> str:
    """A link whose content is all right but for these."""
    parts: dict[str, object] = {
        "format": 1,
        "setup": "one-jump",
        "parameters": {},
        "left_out": [],
        "steps": ["publish.2"],
        "at": 0,
        "rules": "x",
    }
    return packed(json.dumps(list((parts | changes).values())).encode())


def packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(data)).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("link", "says"),
    [
        pytest.param("x" * 8_001, "at most 8000 characters", id="too long"),
        pytest.param("§§§", "cut off, or was changed", id="not of a link's letters"),
        pytest.param("abc", "cut off, or was changed", id="not compressed"),
        pytest.param(body()[:-6], "cut off", id="cut off"),
        pytest.param(packed(b"[" * 60_000), "holds no session", id="deeply nested"),
        pytest.param(packed(b" " * 5_000_000), "more than a session can", id="a bomb"),
        pytest.param(packed(b"\xff\xfe"), "holds no session", id="not text"),
        pytest.param(packed(b"{}"), "of something else", id="not a list"),
        pytest.param(body(format=2), "another version of the lab", id="another format"),
        pytest.param(body(setup=3), "names no set-up", id="no set-up"),
        pytest.param(body(rules=None), "names no set-up", id="no rules"),
        pytest.param(body(parameters=[]), "no mapping", id="parameters of another shape"),
        pytest.param(body(parameters={str(n): n for n in range(21)}), "no mapping of at most 20", id="too many"),
        pytest.param(body(parameters={"rows": {"a": 1}}), "parameter rows is no text", id="a value of another shape"),
        pytest.param(body(parameters={"rows": [[1]]}), "parameter rows is no text", id="lists in a list"),
        pytest.param(body(parameters={"rows": 1.5}), "parameter rows is no text", id="a fraction"),
        pytest.param(body(left_out="fence"), "no list of names", id="rules of another shape"),
        pytest.param(body(steps=[1]), "no list of names", id="steps of another shape"),
        pytest.param(body(steps=["a"] * 201), "at most 200 steps", id="too many steps"),
        pytest.param(body(steps=["a" * 201]), "at most 200 characters", id="a step that is no name"),
        pytest.param(body(steps=["a\0"]), "of printable characters", id="a step that no database takes"),
        pytest.param(body(steps=["\ud800"]), "holds no session", id="half a character"),
        pytest.param(
            body(parameters={"name": "a\0"}), "parameter name is no text", id="a value that no database takes"
        ),
        pytest.param(body(at=2), "not between 0 and its 1 steps", id="a position beyond the end"),
        pytest.param(body(at=True), "not between 0", id="a position that is none"),
    ],
)
def test_a_hostile_link_is_refused_in_a_sentence(link: str, says: str) -> None:
    with pytest.raises(BadLink) as refused:
        decode(link)
    assert says in str(refused.value)


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=7), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=20,
)
ANYTHING = st.one_of(
    st.text(max_size=200),
    st.binary(max_size=200).map(packed),
    JSON.map(lambda value: packed(json.dumps(value).encode())),
)


@drawn(few=30, many=100)
@given(ANYTHING)
def test_whatever_a_link_holds_it_is_a_session_or_refused(link: str) -> None:
    try:
        linked = decode(link)
    except BadLink:
        return
    assert len(linked.session.steps) <= STEPS_MAX


@drawn(few=30, many=100)
@given(st.lists(st.one_of(st.sampled_from(["publish.2", "n2.acquire", "n1.begin", "given.1"]), NAMES), max_size=6))
def test_whatever_steps_a_session_holds_it_is_shown_as_far_as_they_go(steps: list[str]) -> None:
    shown = show(Session("one-jump", steps=tuple(steps)))
    taken = [line.id for line in shown.trace]
    assert taken == steps[: len(taken)]
    assert (shown.refused is None) == (len(taken) == len(steps))
    if shown.refused is not None:
        assert shown.refused.step == steps[len(taken)]
        assert str(shown.refused.why)


BUILT_IN = [variant.model.to_json() for variant in all_variants().values()]
ODD = st.sampled_from([None, "x", 2.5, -1, 0, True, [], {}, ["absent"], ["public"] * 40, 10**30, "DROP TABLE t"])


@drawn(few=30, many=100)
@given(st.data())
def test_whatever_model_somebody_writes_it_is_shown_or_refused_in_a_sentence(data: st.DataObject) -> None:
    body = dict(data.draw(st.sampled_from(BUILT_IN)))
    for name in data.draw(st.lists(st.sampled_from(sorted(body)), max_size=3)):
        body[name] = data.draw(st.one_of(ODD, st.sampled_from([other[name] for other in BUILT_IN if name in other])))
    says = ""
    try:
        assert show(Session("model", {"model": json.dumps(body)})).offers
    except BadSession as refused:
        says = str(refused)
    assert "\n" not in says


def test_a_model_of_many_versions_is_refused() -> None:
    body = BUILT_IN[0] | {"road": ["absent", "delete-only"] * 7, "statement": ""}
    with pytest.raises(BadSession, match="at most 12 versions, not 14"):
        show(Session("model", {"model": json.dumps(body)}))


def test_sessions_too_long_for_a_link_are_refused() -> None:
    with pytest.raises(BadSession, match="at most 200 steps"):
        encode(Session("one-jump", steps=("publish.2",) * 201), 0)
    noise = tuple(base64.b64encode(bytes((n * k * k) % 251 for k in range(120))).decode() for n in range(150))
    with pytest.raises(BadSession, match="at most 8000 characters"):
        encode(Session("one-jump", steps=noise), 0)
