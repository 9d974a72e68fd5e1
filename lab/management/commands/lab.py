"""`manage.py lab sandbox make|list|drop ..`, `replay LINK` (a session on live nodes, the audit's verdict beside the
model's), `record [NAME ..]` (the replays for people who may not ask for one). Exit code 0: as asked, the verdicts
agree; 1: refused, or they differ; 2: bad usage; 3: not known yet."""

import getpass
import json
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from changes.management.refusals import refusals
from changes.models import Change, Status
from lab.live import replays, sandbox
from lab.live.replays import Busy
from lab.models import Replay
from lab.replays.recorded import FOLDER, SESSIONS
from lab.replays.trace import NotReplayable
from lab.sessions.session import BadLink, BadSession, Session, decode

UNKNOWN = 3
WAIT_S, LOOK_S = 60.0, 0.1


class Command(BaseCommand):
    help = "The lab on the real cluster: sandbox tables, on which rules may be broken."

    def add_arguments(self, parser: CommandParser) -> None:
        rooms = parser.add_subparsers(dest="room", required=True)
        acts = rooms.add_parser("sandbox", help="sandbox tables").add_subparsers(dest="act", required=True)
        acts.add_parser("list", help="list them")
        make = acts.add_parser("make", help="make one: t (id, a)")
        make.add_argument("name", nargs="?", default="", metavar="NAME", help="a name of its own, unless it gets one")
        acts.add_parser("drop", help="drop one of your own").add_argument("name", metavar="NAME")
        replay = rooms.add_parser("replay", help="carry a session of the stage out on live nodes")
        replay.add_argument("link", metavar="LINK", help="the session: what follows ?s= in a link of the stage")
        record = rooms.add_parser("record", help="carry known sessions out and write what the lab shows of them")
        record.add_argument("names", nargs="*", metavar="NAME", help="which; without one, all")
        for one in (*acts.choices.values(), replay):
            one.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, room: str, act: str = "", **options: Any) -> None:
        who = getpass.getuser()
        if room == "replay":
            self._replay(who, options["link"], as_json=options["json"])
            return
        if room == "record":
            self._record(who, options["names"])
            return
        if act == "list":
            self._list(as_json=options["json"])
            return
        with refusals():
            change = sandbox.make(who, options["name"]) if act == "make" else sandbox.drop(options["name"], who=who)
        self._end(sandbox.wait(change, seconds=WAIT_S), as_json=options["json"])

    def _list(self, *, as_json: bool) -> None:
        found = sandbox.sandboxes()
        if as_json:
            self.stdout.write(json.dumps([one.to_json() for one in found], indent=2))
            return
        if not found:
            self.stdout.write("there is no sandbox; to make one: lab sandbox make")
        for one in found:
            self.stdout.write(f"{one.name:24} of {one.owner:16} {one.state:9} until {one.ends_at:%H:%M:%S} UTC")

    def _end(self, change: Change, *, as_json: bool) -> None:
        body = {"table": change.table_name, "id": change.table_id, "change": change.pk, "status": str(change.status)}
        self.stdout.write(
            json.dumps(body, indent=2) if as_json else f"{change.table_name}: {change.statement}: {change.status}"
        )
        if change.is_open:
            raise CommandError(f"change {change.pk} has not ended within {WAIT_S:g} s", returncode=UNKNOWN)
        if change.status != Status.DONE:
            raise CommandError(f"change {change.pk} {change.status}: {change.error}", returncode=1)

    def _replay(self, who: str, link: str, *, as_json: bool) -> None:
        try:
            replay = _ended(who, decode(link).session)
        except (BadLink, BadSession) as error:
            raise CommandError(str(error), returncode=2) from error
        except (NotReplayable, Busy) as error:
            raise CommandError(str(error), returncode=1) from error
        outcome = replay.outcome or {"result": "unable", "why": "time"}
        self.stdout.write(json.dumps(outcome, indent=2) if as_json else _in_words(outcome))
        if outcome["result"] != "compared":
            raise CommandError("it came to no verdict", returncode=UNKNOWN)
        if not outcome["agree"]:
            raise CommandError("the verdicts differ: this is our bug", returncode=1)

    def _record(self, who: str, names: list[str]) -> None:
        unknown = sorted(set(names) - SESSIONS.keys())
        if unknown:
            raise CommandError(f"there is no session {unknown[0]}; there are {', '.join(SESSIONS)}", returncode=2)
        for name in names or SESSIONS:
            try:
                replay = _ended(who, SESSIONS[name])
            except (NotReplayable, Busy) as error:
                raise CommandError(str(error), returncode=1) from error
            if not replay.outcome or not replay.outcome.get("agree"):
                raise CommandError(f"{name} is not recorded: {replay.outcome}", returncode=1)
            kept = {"on": f"{replay.asked_at:%Y-%m-%d}", "times": replay.times, "outcome": replay.outcome}
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / f"{name}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
            self.stdout.write(f"{name}: {replay.times[-1]:g} s")


def _ended(who: str, session: Session) -> Replay:
    replay = replays.ask(who, session, may_harm=True)
    until = time.monotonic() + replays.ENDED_WITHIN.total_seconds()
    while replay.ended_at is None and time.monotonic() < until:
        time.sleep(LOOK_S)
        replay.refresh_from_db()
    return replay


def _in_words(outcome: dict[str, Any]) -> str:
    if outcome["result"] != "compared":
        return f"{outcome['why']}: {outcome.get('detail', '')}"
    model, cluster = (", ".join(outcome[side]) or "every clause holds" for side in ("model", "cluster"))
    return f"the model said: {model}; the cluster did: {cluster}"
