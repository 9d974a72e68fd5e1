"""The explorer's page: every model opens on the stage in a click, and a model of one's own is checked first."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.http import HttpResponse
from django.test import Client

from lab.exercises.shelf import books
from lab.explorer.variants import all_variants
from lab.pages import why_a_change_waits
from lab.pages.explorer import KINDS
from lab.sessions.explained_waits import DOORS
from lab.sessions.replay import show
from lab.sessions.session import LinkContents, decode
from lab.sessions.titles import chapter_of

ClientOf = Callable[[str], Client]
PAGE = "/lab/explorer/"
TEMPLATES = Path(__file__).parents[2] / "templates"
OWN = {"kind": "index", "states": "absent, delete-only, public", "nodes": "2"}


def linked(answer: HttpResponse) -> tuple[LinkContents, bool]:
    """The session that a redirect opens, and whether the explorer is asked at once."""
    assert answer.status_code == 302, answer.content.decode()
    to = urlsplit(answer["Location"])
    assert to.path == "/lab/stage/"
    asked = parse_qs(to.query)
    return decode(asked["s"][0]), asked.get("ask") == ["1"]


def test_every_model_and_every_rule_has_a_link(client_of: ClientOf) -> None:
    page = client_of("lea").get(PAGE).content.decode()
    assert [name for name in all_variants() if f"/lab/models/{name}/" not in page] == []
    assert "120 unsafe sequences" in page
    assert "L2, L7: at most two versions are in use at once" in page


@pytest.mark.parametrize("who", ["lea", ""])
def test_every_unsafe_model_is_three_clicks_from_the_front_page(client_of: ClientOf, db: None, who: str) -> None:
    """Lab, Explorer, the model: then the address is the link to share. Nothing has to be unfolded first."""
    browser = client_of(who) if who else Client()
    front, lab, page = (browser.get(path).content.decode() for path in ("/", "/lab/", PAGE))
    assert ('href="/lab/"' in front, f'href="{PAGE}"' in lab) == (True, True)
    in_sight = re.sub(r"<details(?![^>]* open)[^>]*>.*?</details>", "", page, flags=re.DOTALL)
    unsafe = [name for name, variant in all_variants().items() if variant.breaks]
    assert len(unsafe) == 120
    assert [name for name in unsafe if f'href="/lab/models/{name}/"' not in in_sight] == []


def test_an_unsafe_model_opens_at_the_end_of_its_witness(client_of: ClientOf) -> None:
    link, asks = linked(client_of("lea").get("/lab/models/fill-puts-blindly/"))
    assert link.at == len(link.session.steps) > 0
    assert not asks
    assert {verdict.clause for verdict in show(link.session).verdicts} >= {"C5"}


def test_a_proved_model_opens_at_its_start_and_asks(client_of: ClientOf) -> None:
    link, asks = linked(client_of("lea").get("/lab/models/add-index/"))
    assert (link.session.steps, asks) == ((), True)


@pytest.mark.parametrize("situation", DOORS)
def test_a_door_opens_on_the_stage(client_of: ClientOf, situation: str) -> None:
    link, _ = linked(client_of("lea").get(f"/lab/why/{situation}/"))
    assert link.session == DOORS[situation]


def test_each_situation_has_its_chapter() -> None:
    chapters = {situation: chapter_of(session) for situation, session in DOORS.items()}
    assert [situation for situation, chapter in chapters.items() if not chapter] == []
    assert set(chapters.values()) <= {book.chapter.id for book in books()}


def test_pages_lead_to_doors_that_there_are() -> None:
    """Waits, refusals, failures, and what is invisible; nothing on a page is about lost news yet."""
    templates = "".join(path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.html"))
    named = set(re.findall(r'url "lab-why" "([^"]+)"', templates))
    chosen = set(re.findall(r'url "lab-why" ([a-z][\w.]*) ', templates))
    assert named <= set(DOORS)
    assert chosen == {"slot.state.value", "r.kind"}
    by_kind = {"delete-only", "write-only", "column", "table", "type"}
    waits = {"lease", "open-transaction", "outlived-lease", "dead-node"}
    assert set(DOORS) - named - by_kind - waits == {"news"}
    assert templates.count('url "lab-why-change"') == 4


@pytest.mark.parametrize(
    ("is_down", "has_lease", "has_transaction", "door"),
    [
        (True, True, False, "dead-node"),
        (True, True, True, "dead-node"),
        (False, True, False, "lease"),
        (False, True, True, "open-transaction"),
        (False, False, True, "outlived-lease"),
    ],
)
def test_a_wait_leads_to_the_situation_that_it_is(
    is_down: bool, has_lease: bool, has_transaction: bool, door: str
) -> None:
    blocker = {"node": "n1", "is_down": is_down}
    assert why_a_change_waits.door_of(blocker, has_lease=has_lease, has_transaction=has_transaction) == door
    assert door in DOORS


def test_a_model_of_ones_own_opens_and_asks(client_of: ClientOf) -> None:
    link, asks = linked(client_of("lea").post(PAGE, OWN | {"left_out": ["skipped"]}))
    assert (link.session.setup, link.session.left_out, asks) == ("model", {"skipped"}, True)
    states = [version.elements[0].state for version in show(link.session).cluster.versions]
    assert states == ["absent"]


def test_a_link_fills_the_form_in(client_of: ClientOf) -> None:
    page = client_of("lea").get(f"{PAGE}?kind=required+column&states=absent,delete-only,public&change=drop")
    shown = page.content.decode()
    assert 'value="required-column" selected' in shown
    assert 'value="absent,delete-only,public"' in shown
    assert page.context["ladder"]["ground"]["value"] == "public"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", ["add", "drop"])
def test_every_element_has_tiles_and_predictions(client_of: ClientOf, kind: str, change: str) -> None:
    built = client_of("lea").get(f"{PAGE}?kind={kind}&change={change}").context["ladder"]
    assert len(built["tiles"]) >= 2
    assert len(built["predictions"]) >= 2
    assert all(tile["text"] for tile in built["tiles"])


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        pytest.param({"kind": "nothing"}, "unknown kind", id="an unknown element"),
        pytest.param({"states": "absent,pubic"}, "pubic", id="an unknown state"),
        pytest.param({"states": ""}, "This cannot be explored", id="no state"),
        pytest.param({"kind": "constraint", "states": "absent,delete-only"}, "delete-only", id="a state it has not"),
        pytest.param({"left_out": ["gravity"]}, "cannot leave out gravity", id="an unknown rule"),
        pytest.param({"states": "absent," * 500}, "This cannot be explored", id="far too many"),
    ],
)
def test_a_model_that_is_none_is_refused_in_words(client_of: ClientOf, sent: dict[str, str], words: str) -> None:
    answer = client_of("lea").post(PAGE, OWN | sent)
    assert answer.status_code == 400
    assert words in answer.content.decode()


@pytest.mark.parametrize("path", ["/lab/models/nope/", "/lab/why/nope/", "/lab/without/nope/"])
def test_what_is_not_there_is_not_found(client_of: ClientOf, path: str) -> None:
    assert client_of("lea").get(path).status_code == 404
