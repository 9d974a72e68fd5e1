"""Outcomes of the steps that were tried with a client.

works     it did what it does on PostgreSQL
refused   a node refused it by name (0A000), and says what to do instead
wrong     anything else: red in the matrix
untried   the client, or what it runs on, is not on this machine
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path

REFUSED_BY_NAME = "0A000"


class Outcome(Enum):
    WORKS = "works"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried."""

    what: str
    outcome: Outcome
    message: str = ""
    hint: str = ""


@dataclass(slots=True)
class Client:
    """One client and its steps; `untried` says why there are none."""

    name: str
    version: str = ""
    steps: list[Step] = field(default_factory=list)
    untried: str = ""

    def count(self, outcome: Outcome) -> int:
        return sum(step.outcome is outcome for step in self.steps)


def judged(fields: dict[str, str]) -> Step:
    """A step from the line that its driver printed."""
    if fields["outcome"] == "works":
        return Step(fields["tried"], Outcome.WORKS)
    state, message = fields.get("sqlstate") or "", fields.get("message") or ""
    is_refused = state == REFUSED_BY_NAME and "not supported" in message
    outcome = Outcome.REFUSED if is_refused else Outcome.WRONG
    shown = message.split("\n")[0] if is_refused else f"{state} {message}".strip()
    return Step(fields["tried"], outcome, shown, fields.get("hint") or "")


def read(name: str, lines: Iterable[str], failure: str = "") -> Client:
    """The client that printed these lines; `failure` is how its program ended, unless well."""
    client = Client(name)
    for line in lines:
        if not line.startswith("{"):
            continue
        fields = json.loads(line)
        if "client" in fields:
            client.name, client.version = fields["client"], fields["version"]
        else:
            client.steps.append(judged(fields))
    if failure:
        client.steps.append(Step("its whole run", Outcome.WRONG, failure))
    return client


def keep(folder: Path, place: str, client: Client) -> None:
    """Keep what this run saw of a client; `place` is its place on the page."""
    folder.mkdir(parents=True, exist_ok=True)
    steps = [{**asdict(step), "outcome": step.outcome.value} for step in client.steps]
    (folder / f"{place}.json").write_text(json.dumps({**asdict(client), "steps": steps}))


def kept(folder: Path) -> list[Client]:
    """Read what the last run of each client saw, in the order of the page."""
    found = []
    for path in sorted(folder.glob("*.json")):
        fields = json.loads(path.read_text())
        steps = [Step(**{**step, "outcome": Outcome(step["outcome"])}) for step in fields.pop("steps")]
        found.append(Client(**fields, steps=steps))
    return found
