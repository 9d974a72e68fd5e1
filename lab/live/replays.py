"""Replays: asked for by a person with an account, one at a time for each, a few for the cluster. A replay whose worker
dies is ended by the timetable, and its sandbox is dropped as every other one is."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils.timezone import now

from catalog.hints import celery_app, sent
from catalog.services import append_event
from catalog.text.message import Text, Values
from lab.live.absent_nodes import bring_back
from lab.models import Replay
from lab.replays.actions import Script
from lab.replays.trace import NotReplayable
from lab.replays.translation import translated
from lab.sessions.session import BadLink, BadSession, Session, decode, encode

log = logging.getLogger(__name__)

TASK = "lab.tasks.replay"
AT_ONCE_MAX = 3
"""Of the whole cluster: each holds a worker's thread, and disturbs the nodes."""
KEPT_MAX = 500
SECONDS_MAX = 120.0
LEASE_S_MAX = 45.0
"""Of a cluster on which a change may wait for the lease of a node that is away, or hears no news."""
BEGUN_WITHIN = timedelta(seconds=SECONDS_MAX + 10)
"""Its task is thrown away before."""
LOST_AFTER = timedelta(seconds=SECONDS_MAX + 20)
"""Since it began; its own time is over, and what it waits for last has come or not."""
ENDED_WITHIN = BEGUN_WITHIN + LOST_AFTER + timedelta(seconds=20)
"""Whatever becomes of it, the timetable's own pace included."""
REPLAYS = (0x5C4E, 3)


class MayNotHarm(Exception):
    """This person may submit changes, and may not kill nodes."""


class Busy(Exception):
    """There is one under way already: this person's own, or as many of others as the cluster takes."""

    def __init__(self, why: str, *, own: int | None = None, alone: bool = False) -> None:
        super().__init__(why)
        self.own, self.alone = own, alone
        """The number of one's own; or one of them needs the cluster for itself."""


def stream_of(pk: int) -> str:
    return f"replay:{pk}"


def ready(session: Session) -> Script:
    script = translated(session)
    if script.waits_for_leases and settings.LEASE_S > LEASE_S_MAX:
        values: Values = {"seconds": f"{settings.LEASE_S:g}", "most": f"{LEASE_S_MAX:g}"}
        raise NotReplayable(
            Text("leases of this cluster last {seconds} s: a replay waits for a lease {most} s at most", values)
        )
    return script


def ask(owner: str, session: Session, *, may_harm: bool) -> Replay:
    """A replay of a session, sent to a worker. `may_harm`: they may kill and freeze nodes; such a replay has the
    cluster for itself. Raises `Busy`, `MayNotHarm`, `NotReplayable`, `BadSession`."""
    script = ready(session)
    if script.harms and not may_harm:
        raise MayNotHarm
    link = encode(session)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", REPLAYS)
        under_way = Replay.objects.filter(ended_at__isnull=True)
        own = under_way.filter(owner=owner).first()
        if own is not None:
            raise Busy("your last replay has not ended", own=own.pk)
        others = [_harms(one) for one in under_way]
        if any(others) or (others and script.harms):
            raise Busy(f"replays under way: {len(others)}; one that takes a node away needs the cluster", alone=True)
        if len(others) >= AT_ONCE_MAX:
            raise Busy(f"replays under way: {len(others)}; try again when they have ended")
        made = Replay.objects.create(owner=owner, link=link, asked_at=now())
        forgotten = Replay.objects.order_by("-pk").values_list("pk", flat=True)[KEPT_MAX:]
        Replay.objects.filter(pk__in=list(forgotten), away=[]).delete()
        transaction.on_commit(lambda: _send(made.pk))
    return made


def _harms(replay: Replay) -> bool:
    """True if it takes nodes away; of one that this version cannot read any more, nobody knows."""
    try:
        return translated(session_of(replay)).harms
    except (BadLink, BadSession, NotReplayable) as error:
        log.warning("replay %s cannot be read: %s", replay.pk, error)
        return True


def _send(pk: int) -> None:
    ask = partial(celery_app().send_task, TASK, (pk,), queue="default", retry=False, expires=SECONDS_MAX)
    if not sent(ask, f"replay {pk}", "it is over"):
        end(pk, {"result": "unable", "why": "broker"})


def begin(pk: int) -> Replay | None:
    if not Replay.objects.filter(pk=pk, begun_at__isnull=True, ended_at__isnull=True).update(begun_at=now()):
        return None
    return Replay.objects.get(pk=pk)


def note(pk: int, what: str, **values: Any) -> None:
    with transaction.atomic():
        Replay.objects.filter(pk=pk).update(**values)
        append_event("replay step", f"replay {pk}", {"what": what}, [stream_of(pk)])


def end(pk: int, outcome: dict[str, Any]) -> None:
    with transaction.atomic():
        if Replay.objects.filter(pk=pk, ended_at__isnull=True).update(ended_at=now(), outcome=outcome):
            append_event("replay step", f"replay {pk}", {"what": "It has ended"}, [stream_of(pk)])


def end_lost() -> None:
    """Ends replays without a worker, and brings back the nodes that ended ones left away."""
    never = Q(begun_at__isnull=True, asked_at__lt=now() - BEGUN_WITHIN)
    for replay in Replay.objects.filter(never | Q(begun_at__lt=now() - LOST_AFTER), ended_at__isnull=True):
        end(replay.pk, {"result": "unable", "why": "lost"})
    for replay in Replay.objects.filter(ended_at__isnull=False).exclude(away=[]):
        bring_back(replay)


def session_of(replay: Replay) -> Session:
    return decode(replay.link).session
