"""Polls are made, voted on (one vote a browser, changed at will until it is revealed), cleared and deleted. A voter
needs the link alone, and is stored under a name that only their browser's session knows."""

import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count
from django.utils.timezone import now

from lab.classroom.services import plain
from lab.models import Poll, Vote
from lab.sessions.replay import show
from lab.sessions.session import BadLink, BadSession, decode

POLLS_MAX = 50
"""Of one teacher; a further one displaces the oldest."""

VOTES_MAX = 2_000
DAYS_KEPT = 30
QUESTION_CHARACTERS_MAX, CHOICE_CHARACTERS_MAX = 200, 100
CHOICES_MIN, CHOICES_MAX = 2, 6
TOKEN_BYTES = 9


class BadPoll(ValueError):
    """Says which part of the poll or the vote is wrong."""


def make_poll(by: User, *, link: str, question: str, choices: Sequence[str], right: int | None, language: str) -> Poll:
    """A poll on the session of a link, at its position. `right`: the right choice, from 0. Raises `BadPoll`."""
    asked = plain(question)
    chosen = [plain(one) for one in choices]
    try:
        linked = decode(link)
        show(linked.session, linked.at)
    except (BadLink, BadSession) as error:
        raise BadPoll("link") from error
    if not 1 <= len(asked) <= QUESTION_CHARACTERS_MAX:
        raise BadPoll("question")
    if not CHOICES_MIN <= len(chosen) <= CHOICES_MAX or len(set(chosen)) < len(chosen) or not all(chosen):
        raise BadPoll("choices")
    if any(len(one) > CHOICE_CHARACTERS_MAX for one in chosen):
        raise BadPoll("choice")
    if right is not None and not 0 <= right < len(chosen):
        raise BadPoll("right")
    with transaction.atomic():
        User.objects.select_for_update().get(pk=by.pk)
        Poll.objects.filter(made_at__lt=now() - timedelta(days=DAYS_KEPT)).delete()
        kept = Poll.objects.filter(made_by=by).order_by("-made_at").values("pk")[: POLLS_MAX - 1]
        Poll.objects.filter(made_by=by).exclude(pk__in=list(kept.values_list("pk", flat=True))).delete()
        return Poll.objects.create(
            made_by=by,
            made_at=now(),
            token=secrets.token_urlsafe(TOKEN_BYTES),
            link=link,
            question=asked,
            choices=chosen,
            right=right,
            language=language,
        )


def vote(poll: Poll, voter: str, choice: int) -> None:
    """Counts the vote of a browser, or changes it. Raises `BadPoll`: it is revealed, full, or has no such choice."""
    assert voter, "a visitor is named before something is kept"
    with transaction.atomic():
        locked = Poll.objects.select_for_update().get(pk=poll.pk)
        if locked.is_revealed:
            raise BadPoll("revealed")
        if not 0 <= choice < len(locked.choices):
            raise BadPoll("vote")
        if locked.votes.count() >= VOTES_MAX and not locked.votes.filter(voter=voter).exists():
            raise BadPoll("full")
        Vote.objects.update_or_create(poll=locked, voter=voter, defaults={"choice": choice})


def reveal(poll: Poll, *, is_revealed: bool) -> None:
    Poll.objects.filter(pk=poll.pk).update(is_revealed=is_revealed)


def clear(poll: Poll) -> None:
    with transaction.atomic():
        Poll.objects.select_for_update().get(pk=poll.pk)
        poll.votes.all().delete()
        reveal(poll, is_revealed=False)


def counts(poll: Poll) -> list[int]:
    cast = dict(poll.votes.values_list("choice").annotate(count=Count("pk")).order_by())
    return [cast.get(at, 0) for at in range(len(poll.choices))]
