"""A session may carry names, from anybody: they change words only, and are looked at before they are used."""

import json
import re

import pytest

from catalog.text.message import Text
from lab.explorer.variants import all_variants
from lab.sessions.as_json import to_json
from lab.sessions.names import Names, names_in
from lab.sessions.replay import show
from lab.sessions.session import BadSession, Session

MODEL = '{"kind":"index","also":[],"road":["absent","public"]}'
STEPS = ("publish.2", "n2.acquire", "n2.begin", "n2.read.1", "n2.write.insert.1.1", "n2.commit")
NAMES = Names({"t": "flights", "a": "<b>dest</b>", "by_a": "by_a_too", "by_a_too": "by_a"}, ("'x'", "'{y}'"))


def test_names_change_words_only() -> None:
    plain = Session("model", {"model": MODEL}, frozenset(), STEPS)
    named = Session("model", {"model": MODEL, "names": NAMES.to_json()}, frozenset(), STEPS)
    one, other = show(plain), show(named)
    assert [line.id for line in one.trace] == [line.id for line in other.trace]
    assert one.strip == other.strip
    assert [offer.id for offer in one.offers] == [offer.id for offer in other.offers]
    assert str(other.trace[-1].text) == (
        "n2 commits as v2: + row 1, + <b>dest</b> = 'x' of row 1, + the entry 'x' of row 1"
    )
    assert [pair.key for pair in other.cluster.pairs] == ["row", "<b>dest</b>", "by_a_too: 'x'"]
    assert {probe.query for probe in other.probe} == {
        "SELECT id FROM flights WHERE <b>dest</b> = 'x'",
        "SELECT id FROM flights WHERE <b>dest</b> = '{y}'",
    }
    assert {one.table for one in other.cluster.versions} == {"flights"}
    assert "{column}" not in json.dumps(to_json(other))


def test_a_name_is_given_once_even_if_it_is_a_name_of_the_model() -> None:
    assert NAMES.word("by_a") == "by_a_too"
    assert str(NAMES.text(Text("{index} of {table}", {"index": "by_a", "table": "t@2"}))) == "by_a_too of flights@2"


def test_what_has_no_name_keeps_its_own() -> None:
    none = names_in("")
    assert (none.word("by_a"), none.value("1"), none.value("NULL")) == ("by_a", "1", "NULL")
    assert (NAMES.value("3"), NAMES.word("a (new)"), NAMES.word("child@2")) == ("3", "<b>dest</b> (new)", "child@2")


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        pytest.param("{", "no JSON", id="no JSON"),
        pytest.param("[" * 5000, "no JSON", id="nested deeply"),
        pytest.param("[]", "words, values and versions", id="no mapping"),
        pytest.param('{"rows": []}', "words, values and versions", id="another part"),
        pytest.param('{"words": {"n9": "x"}}', "n9 can have no name", id="a node that is none"),
        pytest.param('{"versions": -2}', "versions is the number", id="versions before the first"),
        pytest.param('{"versions": true}', "versions is the number", id="versions that are no number"),
        pytest.param('{"words": {"a": ""}}', "1 to 150 printable characters", id="nothing"),
        pytest.param('{"words": {"a": "x\\u202ey"}}', "printable", id="a character that turns the text around"),
        pytest.param('{"words": {"a": "x\\u0000"}}', "printable", id="a zero byte"),
        pytest.param(json.dumps({"words": {"a": "x" * 151}}), "printable", id="too long"),
        pytest.param('{"words": {"a": 1}}', "printable", id="a number"),
        pytest.param('{"values": ["1", "2", "3", "4", "5"]}', "at most 4", id="too many values"),
        pytest.param('{"values": {}}', "a list", id="no list"),
    ],
)
def test_names_that_are_none_are_refused(parameter: str, words: str) -> None:
    with pytest.raises(BadSession, match=words):
        names_in(parameter)
    with pytest.raises(BadSession):
        show(Session("model", {"model": MODEL, "names": parameter}))


def test_versions_and_nodes_are_those_of_a_cluster_wherever_they_stand() -> None:
    names = Names({"n1": "n3", "t": "flights"}, versions=6)
    steps = ("n1.begin", "publish.2", "n2.acquire")
    model = MODEL.replace('"public"', '"delete-only","write-only","public"')
    shown = show(Session("model", {"model": model, "names": names.to_json()}, frozenset(), steps), single_steps=True)
    assert [one.number for one in shown.cluster.versions] == [7, 8]
    assert [(node.name, [lease.version for lease in node.leases]) for node in shown.cluster.nodes] == [
        ("n3", [7]),
        ("n2", [8]),
    ]
    assert shown.cluster.nodes[0].transactions[0].versions == {"flights": 7}
    assert shown.actors[:2] == ("n3", "n2")
    (refused,) = (one for one in shown.offers if one.id == "publish.3")
    assert str(refused.why_not) == "n3 still leases v7, a transaction of v7 is still open"
    written = json.dumps(to_json(shown))
    assert "publish v8" in written
    assert re.findall(r"\bv[1-6]\b", written) == []


def test_whatever_is_within_a_session_has_its_names() -> None:
    """Also what stands deep inside: a transaction of a node, the step that was refused."""
    steps = ("n1.begin", "n1.read.1", "n1.write.insert.1.1", "n1.write.insert.1.1")
    shown = show(Session("model", {"model": MODEL, "names": NAMES.to_json()}, frozenset(), steps), single_steps=True)
    assert "<b>dest</b> = 'x'" in str(shown.cluster.nodes[0].transactions[0].did)
    assert shown.refused is not None
    assert "<b>dest</b> = 'x'" in str(shown.refused.label)


def test_a_lane_is_renamed_once() -> None:
    """Of tables that bear names which elements of the model have."""
    names = Names({"child": "a", "parent": "b", "a": "b_id"}, versions=4)
    model = json.dumps(all_variants()["add-foreign-key"].model.to_json())
    parameters = {"model": model, "names": names.to_json()}
    shown = show(Session("model", parameters, frozenset(), ("n1.begin", "n1.read.1")))
    lanes = {line.to for line in shown.trace if line.to}
    assert lanes <= {"a", "b"}, lanes
    assert "a" in lanes
