"""Replays on the live cluster: what would be done is shown to all, done for those who may, one at a time."""

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from catalog.models import Table
from lab.learning.views import Place
from lab.live import carry_out, replays
from lab.models import Progress, Replay
from lab.replays.feats import FEATS
from lab.replays.recorded import SESSIONS, recording
from lab.sessions.model.setups import MODEL_SETUPS
from lab.sessions.session import Session, encode

ClientOf = Callable[[str], Client]
STEPS = ("publish.2", "n2.acquire", "n1.begin", "n1.read.1", "n1.write.insert.1.1", "n1.commit")
SESSION = Session("one-jump", steps=STEPS)
LINK = encode(SESSION, len(STEPS))
FILLS = (*MODEL_SETUPS["fill"].begins, "fill.read.1.1", "fill.put.1.1")


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that were sent; none runs by itself."""
    names: list[str] = []
    monkeypatch.setattr("schemalab.celery.app.send_task", lambda name, *_, **__: names.append(name))
    return names


def ended(owner: str, **outcome: object) -> Replay:
    usual = {"asked_at": now(), "begun_at": now(), "ended_at": now(), "attempt": 1, "done": 4}
    return Replay.objects.create(owner=owner, link=LINK, outcome=outcome, **usual)


def test_a_visitor_sees_what_would_be_done_and_why_not(db: None) -> None:
    page = Client().get(reverse("replays"), {"s": LINK}).content.decode()
    assert "n1 begins a transaction under v1, and keeps it open" in page
    assert "Only people with an account who may submit changes can replay on the cluster." in page
    assert 'name="s"' not in page


def test_a_learner_is_told_why_not(client_of: ClientOf) -> None:
    client = client_of("lea")
    page = client.get(reverse("replays"), {"s": LINK}).content.decode()
    assert "Only who may submit changes may replay on the cluster" in page
    assert client.post(reverse("replays"), {"s": LINK}).status_code == 403
    assert not Replay.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_one_at_a_time(client_of: ClientOf, sent: list[str]) -> None:
    client = client_of("sam")
    asked = client.post(reverse("replays"), {"s": LINK})
    made = Replay.objects.get()
    assert asked["Location"] == reverse("replay", args=(made.pk,))
    assert sent == [replays.TASK]
    again = client.post(reverse("replays"), {"s": LINK})
    assert again.status_code == 409
    assert "Your last replay has not ended: one at a time." in again.content.decode()
    replays.end(made.pk, {"result": "unable", "why": "time"})
    assert client.post(reverse("replays"), {"s": LINK}).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_a_few_for_the_cluster() -> None:
    for number in range(replays.AT_ONCE_MAX):
        replays.ask(f"ann{number}", SESSION, may_harm=False)
    with pytest.raises(replays.Busy, match="replays under way: 3;"):
        replays.ask("bo", SESSION, may_harm=False)


@pytest.mark.django_db(transaction=True)
def test_what_a_dead_worker_leaves_is_ended() -> None:
    made = replays.ask("ann", SESSION, may_harm=False)
    replays.end_lost()
    assert Replay.objects.get().ended_at is None
    Replay.objects.update(asked_at=now() - replays.BEGUN_WITHIN)
    replays.end_lost()
    assert Replay.objects.get().outcome == {"result": "unable", "why": "lost"}
    carry_out.carry_out(made.pk)  # the task that comes late finds nothing to do
    assert Replay.objects.get().attempt == 0


def test_what_cannot_be_replayed_is_said(client_of: ClientOf) -> None:
    link = encode(Session("fill", left_out=frozenset({"blind"}), steps=FILLS), 0)
    client = client_of("sam")
    for answer in (client.get(reverse("replays"), {"s": link}), client.post(reverse("replays"), {"s": link})):
        assert "it leaves out blind: no fill of the cluster is careless" in answer.content.decode()
    assert client.post(reverse("replays"), {"s": "nonsense"}).status_code == 400
    assert not Replay.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_node_is_taken_away_by_operators_only(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.conf.settings.LEASE_S", 30.0)
    link = encode(Session("leases", steps=("n1: crash", "step")), 2)
    page = client_of("sam").get(reverse("replays"), {"s": link}).content.decode()
    assert "It takes a node of this cluster away" in page
    assert "Only operators kill and freeze nodes." in page
    assert 'name="s"' not in page
    assert client_of("sam").post(reverse("replays"), {"s": link}).status_code == 403
    assert 'name="s"' in client_of("olga").get(reverse("replays"), {"s": link}).content.decode()
    assert client_of("olga").post(reverse("replays"), {"s": link}).status_code == 302
    alone = client_of("sam").post(reverse("replays"), {"s": LINK})
    assert alone.status_code == 409
    assert "A replay that takes a node away has the cluster for itself" in alone.content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_replay_that_cannot_be_read_any_more_is_waited_for(client_of: ClientOf) -> None:
    Replay.objects.create(owner="lea", link="of an older version", asked_at=now())
    client = client_of("sam")
    assert client.post(reverse("replays"), {"s": LINK}).status_code == 409
    Replay.objects.update(asked_at=now() - replays.BEGUN_WITHIN)
    replays.end_lost()
    assert client.post(reverse("replays"), {"s": LINK}).status_code == 302


def test_both_verdicts_stand_side_by_side(client_of: ClientOf) -> None:
    said = {"violations": [{"clause": "C4", "why": "row 1 has no entry"}], "rows": 1, "pairs": 2}
    agree = ended("sam", result="compared", model=["C4"], cluster=["C4"], agree=True, **said)
    page = client_of("lea").get(reverse("replay", args=(agree.pk,))).content.decode()
    assert "The cluster did what the model said" in page
    assert "row 1 has no entry" in page
    differ = ended("sam", result="compared", model=["C4"], cluster=[], agree=False, violations=[])
    page = client_of("lea").get(reverse("replay", args=(differ.pk,))).content.decode()
    assert "The verdicts differ: this is our bug" in page
    ends = {"model": "rolled back", "cluster": "public"}
    other = ended("sam", result="compared", model=[], cluster=[], agree=False, violations=[], ends=ends)
    page = client_of("lea").get(reverse("replay", args=(other.pk,))).content.decode()
    assert "by the model: rows violate the index, and it is rolled back. On the cluster: the index is public." in page


def test_the_time_of_each_action_is_drawn(client_of: ClientOf) -> None:
    made = ended("sam", result="compared", model=["C4"], cluster=["C4"], agree=True, violations=[])
    Replay.objects.filter(pk=made.pk).update(done=2, times=[0.4, 22.6])
    page = client_of("lea").get(reverse("replay", args=(made.pk,))).content.decode()
    assert re.findall(r'<progress value="([^"]+)" max="([^"]+)"', page) == [("0.4", "22.2"), ("22.2", "22.2")]
    assert "22.2 s" in page


def test_who_may_not_replay_watches_one_that_ran(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "open_to", property(lambda self: len(self.chapter.screens)))
    lea = client_of("lea")
    assert "Watch the last replay" not in live_part_of(lea)
    feat = FEATS["missing-entry"].replay
    assert feat is not None
    made = ended("sam", result="compared", model=["C4"], cluster=["C4"], agree=True, violations=[])
    Replay.objects.filter(pk=made.pk).update(link=encode(feat, len(feat.steps)))
    assert f'href="/lab/live/{made.pk}/"' in live_part_of(lea)
    assert "Watch the last replay" not in live_part_of(Client()), "visitors see nothing of the cluster"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_recorded_replay_is_open_to_all(db: None, language: str) -> None:
    visitor = Client(headers={"accept-language": language})
    for name in SESSIONS:
        page = visitor.get(reverse("recorded", args=(name,))).content.decode()
        assert "data-recorded" in page
        assert 'class="use" data-state="' in page
        assert len(re.findall(r'<li data-at="[\d.]+">', page)) == len(recording(name)["times"])
    page = visitor.get(reverse("recorded", args=("orphan",))).content.decode()
    assert page.count('class="cell bad"') == 2, "the orphan of the model, and that of the cluster"
    assert visitor.get(reverse("recorded", args=("nothing",))).status_code == 404


def test_who_may_not_replay_is_led_to_a_recorded_one(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "open_to", property(lambda self: len(self.chapter.screens)))
    for client in (client_of("lea"), Client()):
        assert 'href="/lab/live/recorded/orphan/"' in live_part_of(client)
        assert "/lab/live/recorded/" in client.get(reverse("replays"), {"s": LINK}).content.decode()
    assert "/lab/live/recorded/" not in live_part_of(client_of("sam"))


def test_the_sandbox_of_a_replay_is_kept_for_a_look(client_of: ClientOf, flights: Table) -> None:
    made = ended("sam", result="compared", model=["C4"], cluster=["C4"], agree=True, violations=[])
    Replay.objects.filter(pk=made.pk).update(table="sandbox_1")
    page = client_of("sam").get(reverse("replay", args=(made.pk,))).content.decode()
    assert "kept for a look" not in page
    Table.objects.create(pk=flights.pk + 1, name="sandbox_1", sandbox_of="sam")
    page = client_of("sam").get(reverse("replay", args=(made.pk,))).content.decode()
    assert "kept for a look" in page
    assert f'href="/tables/{flights.pk + 1}/pairs/"' in page


UNABLE = ["early", "behind", "nodes", "time", "ended", "lost", "broker", "audit", "supervisor", "refused", "failed"]


@pytest.mark.parametrize("why", UNABLE)
def test_no_verdict_says_why(client_of: ClientOf, why: str) -> None:
    made = ended("sam", result="unable", why=why, detail="n3")
    page = client_of("sam").get(reverse("replay", args=(made.pk,))).content.decode()
    assert "It came to no verdict" in page
    assert ("It failed;" in page) == (why == "failed")
    assert "n3" in page


def test_a_page_of_nobody(client_of: ClientOf) -> None:
    assert client_of("sam").get(reverse("replay", args=(7,))).status_code == 404
    assert Client().get(reverse("replay", args=(7,))).status_code == 302


# --- sandboxes, and the live parts of chapters


@pytest.mark.django_db(transaction=True)
def test_sandboxes_are_made_and_dropped_by_who_may(client_of: ClientOf) -> None:
    assert client_of("lea").post(reverse("sandboxes"), {"make": "1"}).status_code == 403
    client = client_of("sam")
    for _ in range(3):
        assert client.post(reverse("sandboxes"), {"make": "1"}).status_code == 302
    answer = client.post(reverse("sandboxes"), {"make": "1"})
    assert answer.status_code == 409
    assert "sam has 3 sandbox tables, which is the limit" in answer.content.decode()
    assert client.post(reverse("sandboxes"), {"drop": "flights"}).status_code == 409
    assert "Make a sandbox" in client.get(reverse("replays")).content.decode()


def test_a_chapter_says_what_is_done_on_the_cluster(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "open_to", property(lambda self: len(self.chapter.screens)))  # all before it is done
    ended("sam", result="compared", model=["C4"], cluster=["C4"], agree=True, violations=[])
    sam, lea = (live_part_of(client_of(name)) for name in ("sam", "lea"))
    assert (sam.count("Not done yet:"), sam.count("Done:")) == (1, 1)
    assert (lea.count("Not done yet:"), lea.count("Done:")) == (2, 0)
    assert "needs an account that may submit changes" in lea
    assert "needs an account that may submit changes" not in sam


def test_a_live_part_that_is_done_counts(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the chapter of who did it, once it is done; the list of others has one task fewer."""
    monkeypatch.setattr(Place, "open_to", property(lambda self: len(self.chapter.screens)))
    sam = client_of("sam")
    ended("sam", result="compared", model=["C4"], cluster=["C4"], agree=True, violations=[])
    live_part_of(sam)
    assert not Progress.objects.exists()
    ended("sam", result="compared", model=["C5"], cluster=["C5"], agree=True, violations=[])
    live_part_of(sam)
    Replay.objects.all().delete()  # the oldest are forgotten
    live_part_of(sam)
    (passed,) = Progress.objects.filter(task="on-the-cluster", passed_at__isnull=False)
    assert (passed.user.username, passed.was_helped) == ("sam", False)
    assert "1 of 6 tasks done" in sam.get(reverse("lab")).content.decode()


def live_part_of(client: Client) -> str:
    """The task of the last screen of chapter 1."""
    page = client.get(reverse("chapter-screen", args=("01-one-jump", "on-the-cluster"))).content.decode()
    return page[page.index('id="task"') :]
