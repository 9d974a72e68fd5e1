"""The small machine of chapter 0: people who write to one another, and handbooks that name their channels.

A handbook is to a person as a version is to a node: the office posts a new edition, and people use the old one until
they look. A message arrives at once, by every channel of its sender's handbook, and is lost if the receiver reads none.
The next edition waits until at most two are in use (L2). With `agreed_min` each person changes over by their own watch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise, product
from typing import Any

from catalog.text.message import Values
from lab.sessions.session import BadSession, Session
from lab.sessions.setup import HANDBOOKS, LeftOut, Parameter, Setup
from lab.sessions.shown import (
    NOTHING,
    Cluster,
    Lease,
    Message,
    Node,
    Offer,
    PlanStep,
    RefusedStep,
    SessionView,
    Severity,
    Strip,
    Text,
    TraceLine,
    Verdict,
    Version,
    step_text,
)

PEOPLE = ("Ann", "Bo")
OFFICE = "office"
TABLE = "handbook"
EDITIONS_MAX = 8
LOST, TOO_MANY = "lost message", "two editions"
TWO_EDITIONS = "two-editions"
START_MIN, WAIT_MIN, WAITS_MAX = 50, 5, 12
"""Where an hour is agreed: the day begins ten minutes before one, and time passes in fives."""


class Channel(Enum):
    MAIL = "mail"
    MESSENGER = "messenger"


BY_NAME: Mapping[str, frozenset[Channel]] = {
    "none": frozenset(),
    "mail": frozenset({Channel.MAIL}),
    "messenger": frozenset({Channel.MESSENGER}),
    "both": frozenset(Channel),
}
WORDS: Mapping[str, Text] = {
    "none": Text("nothing"),
    "mail": Text("e-mail"),
    "messenger": Text("messenger"),
    "both": Text("e-mail and messenger"),
}


class BadHandbook(BadSession):
    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


class Impossible(ValueError):
    def __init__(self, why: Text, rule: str = "") -> None:
        super().__init__(str(why))
        self.why, self.rule = why, rule


@dataclass(frozen=True, slots=True)
class Handbook:
    """The channels that a person reads and sends by: `both/mail` as text."""

    reads: frozenset[Channel]
    sends: frozenset[Channel]

    def __str__(self) -> str:
        return f"{name_of(self.reads)}/{name_of(self.sends)}"

    @property
    def text(self) -> Text:
        return Text(
            "reads {reads}, sends {sends}", {"reads": WORDS[name_of(self.reads)], "sends": WORDS[name_of(self.sends)]}
        )


def name_of(channels: frozenset[Channel]) -> str:
    return next(name for name, found in BY_NAME.items() if found == channels)


def all_handbooks() -> tuple[Handbook, ...]:
    """The twelve: any channels are read, and at least one is sent by."""
    return tuple(Handbook(reads, sends) for reads, sends in product(BY_NAME.values(), repeat=2) if sends)


def handbook(text: str) -> Handbook:
    reads, _, sends = text.partition("/")
    for found in all_handbooks():
        if (reads, sends) == (name_of(found.reads), name_of(found.sends)):
            return found
    values: Values = {"text": repr(text), "words": ", ".join(BY_NAME)}
    raise BadHandbook(Text("{text} is not a handbook: write READS/SENDS, each one of {words}; it must send", values))


MAIL_ONLY, MESSENGER_ONLY = handbook("mail/mail"), handbook("messenger/messenger")


# What may happen


@dataclass(frozen=True, slots=True)
class Company:
    editions: tuple[Handbook, ...]
    keeps_two: bool = True
    agreed_min: int | None = None
    """Minutes after twelve at which all are to change over, each by their own watch."""

    fast_min: tuple[int, ...] = (0,) * len(PEOPLE)


@dataclass(frozen=True, slots=True)
class Letter:
    sender: str
    receiver: str
    by: frozenset[Channel]
    edition: int
    """The receiver's edition."""

    is_lost: bool


@dataclass(frozen=True, slots=True)
class Day:
    """A state: editions count from 1, `uses` has each person's."""

    newest: int
    uses: tuple[int, ...]
    written: tuple[Letter, ...] = ()
    min: int = START_MIN
    """Minutes after twelve."""

    @property
    def lost(self) -> tuple[Letter, ...]:
        return tuple(one for one in self.written if one.is_lost)


def company_of(parameters: Mapping[str, Any], left_out: frozenset[str] = frozenset()) -> Company:
    """The company of a session's parameters (`SETUP`). Raises `BadHandbook`."""
    texts, agreed, fast = parameters["editions"], parameters["agreed_min"], parameters["fast_min"]
    if not 1 <= len(texts) <= EDITIONS_MAX or not all(isinstance(text, str) for text in texts):
        raise BadHandbook(Text("editions are 1 to {most} handbooks, such as mail/mail", {"most": EDITIONS_MAX}))
    if agreed and len(texts) != 2:
        raise BadHandbook(Text("where an hour is agreed there are two editions"))
    if len(fast) != len(PEOPLE) or not all(isinstance(minutes, int) for minutes in fast):
        raise BadHandbook(Text("fast_min has the minutes of {n} watches", {"n": len(PEOPLE)}))
    return Company(tuple(map(handbook, texts)), TWO_EDITIONS not in left_out, agreed or None, tuple(fast))


def first_day(company: Company) -> Day:
    """An agreed hour is known beforehand, so edition 2 is posted."""
    return Day(1 if company.agreed_min is None else 2, (1,) * len(PEOPLE))


def candidates(company: Company, day: Day) -> Iterator[str]:
    """All steps, also those that are refused."""
    if company.agreed_min is not None:
        yield f"wait.{WAIT_MIN}"
    elif day.newest < len(company.editions):
        yield f"post.{day.newest + 1}"
    for person in PEOPLE:
        if company.agreed_min is None:
            yield f"{person.lower()}.looks"
        yield from (f"{person.lower()}.writes.{other.lower()}" for other in PEOPLE if other != person)


def after(company: Company, day: Day, step: str) -> Day:
    """Raises `Impossible`."""
    if step not in candidates(company, day):
        raise Impossible(Text("there is no such step here"))
    who, *words = step.split(".")
    if who == "wait":
        return _later(company, day)
    if who == "post":
        return _posted(company, day)
    at = _place(who)
    if words == ["looks"]:
        if day.uses[at] == day.newest:
            raise Impossible(
                Text("{person} uses edition {number} already", {"person": PEOPLE[at], "number": day.newest})
            )
        return replace(day, uses=(*day.uses[:at], day.newest, *day.uses[at + 1 :]))
    receiver = _place(words[1])
    by = company.editions[day.uses[at] - 1].sends
    is_lost = not by & company.editions[day.uses[receiver] - 1].reads
    message = Letter(PEOPLE[at], PEOPLE[receiver], by, day.uses[receiver], is_lost)
    return replace(day, written=(*day.written, message))


def _posted(company: Company, day: Day) -> Day:
    behind = [person for person, edition in zip(PEOPLE, day.uses, strict=True) if edition < day.newest]
    if behind and company.keeps_two:
        values: dict[str, str | int | Text] = {
            "people": _names(behind),
            "old": day.newest - 1,
            "number": day.newest + 1,
        }
        raise Impossible(Text("edition {number} waits for {people}, who may still use edition {old}", values), "L2")
    return replace(day, newest=day.newest + 1)


def _later(company: Company, day: Day) -> Day:
    if day.min >= START_MIN + WAIT_MIN * WAITS_MAX:
        raise Impossible(Text("the day is over"))
    assert company.agreed_min is not None
    now = day.min + WAIT_MIN
    uses = tuple(
        2 if now + fast >= company.agreed_min else edition
        for edition, fast in zip(day.uses, company.fast_min, strict=True)
    )
    return replace(day, min=now, uses=uses)


def _place(name: str) -> int:
    return [person.lower() for person in PEOPLE].index(name)


def _names(people: Sequence[str]) -> str | Text:
    return people[0] if len(people) == 1 else Text("{one} and {other}", {"one": people[0], "other": people[1]})


# The judge


@dataclass(frozen=True, slots=True)
class Judgement:
    company: Company
    steps: tuple[str, ...] = ()

    @property
    def is_safe(self) -> bool:
        return not self.steps


def judge(editions: Sequence[Handbook]) -> Judgement:
    """Every session of two people under the two-edition rule, shortest first."""
    company = Company(tuple(editions))
    first = first_day(company)
    ways: dict[Day, tuple[str, ...]] = {first: ()}
    level = [first]
    while level:
        following = []
        for day in level:
            for step in candidates(company, day):
                try:
                    then = after(company, day, step)
                except Impossible:
                    continue
                if then.lost:
                    return Judgement(company, (*ways[day], step))
                then = replace(then, written=())
                if then not in ways:
                    ways[then] = (*ways[day], step)
                    following.append(then)
        level = following
    return Judgement(company)


def ordinary(company: Company) -> tuple[str, ...]:
    """An ordinary day: each edition is posted, one person looks before the other, and both write in between."""
    day, steps = first_day(company), list[str]()
    for number in range(2, len(company.editions) + 1):
        for step in (f"post.{number}", "ann.looks", "bo.writes.ann", "ann.writes.bo", "bo.looks"):
            day = after(company, day, step)
            steps.append(step)
    return tuple(steps)


def earliest_next_min(*, posted_min: int, look_every_min: int, give_up_min: int, slack_min: int) -> int:
    """The minute at which the next edition may be posted: by then all at work use the newest one. People try to look
    within `look_every_min`, and stop work `give_up_min` later if they cannot; `slack_min` is for watches that are
    wrong."""
    return posted_min + look_every_min + give_up_min + slack_min


# What is shown

SETUP = Setup(
    "handbooks",
    HANDBOOKS,
    Text("A company and its handbooks"),
    Text("Ann and Bo write to each other, each by the edition of the handbook that they have seen last."),
    (
        Parameter(
            "editions",
            ["mail/mail", "messenger/messenger"],
            Text("the editions, each as READS/SENDS: none, mail, messenger, both"),
        ),
        Parameter("agreed_min", 0, Text("the agreed time in minutes after twelve; 0: none is agreed")),
        Parameter("fast_min", [0] * len(PEOPLE), Text("minutes by which the watches of Ann and Bo are fast")),
    ),
    (LeftOut(TWO_EDITIONS, Text("L2: at most two editions are in use at once")),),
    chapter="00-new-messenger",
    begins=("post.2", "ann.looks"),
)


def show(setup: Setup, session: Session, at: int | None, *, single_steps: bool) -> SessionView:
    setup.check_left_out(session)
    return shown_of(company_of(setup.values(session), session.left_out), session.steps, at)


def shown_of(company: Company, steps: Sequence[str], at: int | None = None) -> SessionView:
    """Position `at` (None: the end). A step that cannot be taken ends the session before it."""
    days, refused = [first_day(company)], None
    for number, step in enumerate(steps):
        try:
            days.append(after(company, days[-1], step))
        except Impossible as impossible:
            day = days[-1]
            offer = next((one for one in _offers(company, day) if one.id == step), None)
            label = Text("{step}", {"step": step}) if offer is None else step_text(offer.actor, offer.label)
            refused = RefusedStep(number, step, label, impossible.why)
            break
    here = len(days) - 1 if at is None else max(0, min(at, len(days) - 1))
    weight = {False: Severity.HOLDS, True: Severity.DAMAGE}
    taken = list(zip(steps, pairwise(days), strict=False))
    return SessionView(
        at=here,
        actors=(OFFICE, *PEOPLE),
        offers=tuple(_offers(company, days[here])),
        cluster=_cluster(company, days[here]),
        verdicts=tuple(_verdicts(company, days[here])),
        strip=(
            Strip(LOST, tuple(weight[any(message.is_lost for message in day.written)] for day in days)),
            Strip(TOO_MANY, tuple(weight[bool(_behind(company, day))] for day in days)),
        ),
        probe=(),
        trace=tuple(_line(company, step, before, then) for step, (before, then) in taken),
        refused=refused,
    )


def _offers(company: Company, day: Day) -> Iterator[Offer]:
    for step in candidates(company, day):
        who, *words = step.split(".")
        try:
            after(company, day, step)
            why_not, rule = NOTHING, ""
        except Impossible as impossible:
            why_not, rule = impossible.why, impossible.rule
        if who in ("wait", "post"):
            minutes, edition = Text("{minutes} minutes pass", {"minutes": WAIT_MIN}), {"number": day.newest + 1}
            label = minutes if who == "wait" else Text("post edition {number}", edition)
            yield Offer(step, OFFICE, label, (step,), why_not, rule)
        elif words == ["looks"]:
            yield Offer(step, _person(who), Text("look at the handbook"), (step,), why_not)
        else:
            to = Text("write to {person}", {"person": _person(words[1])})
            yield Offer(step, _person(who), to, (step,), why_not, is_statement=True)


def _person(name: str) -> str:
    return PEOPLE[_place(name)]


def _cluster(company: Company, day: Day) -> Cluster:
    """Editions are versions, people are nodes; messages are the lost ones."""
    in_use = set(day.uses)
    editions = range(1, day.newest + 1)
    return Cluster(
        versions=tuple(Version(TABLE, n, (), n == day.newest, n in in_use or n == day.newest) for n in editions),
        nodes=tuple(
            Node(person, "running", (Lease(TABLE, edition, is_live=True),))
            for person, edition in zip(PEOPLE, day.uses, strict=True)
        ),
        pairs=(),
        plan=tuple(
            PlanStep(
                Text("edition {number}: {handbook}", {"number": number, "handbook": one.text}),
                "now" if number in in_use else "done" if number < day.newest else "ahead",
            )
            for number, one in enumerate(company.editions, 1)
        ),
        messages=tuple(
            Message(str(number), one.sender, one.receiver, _lost_words(one), is_lost=True)
            for number, one in enumerate(day.lost, 1)
        ),
        clock_s=None if company.agreed_min is None else day.min * 60.0,
    )


def _lost_words(message: Letter) -> Text:
    values: dict[str, str | int | Text] = {
        "receiver": message.receiver,
        "channel": WORDS[name_of(message.by)],
        "number": message.edition,
    }
    return Text("{receiver} uses edition {number}, which does not read {channel}", values)


def _verdicts(company: Company, day: Day) -> Iterator[Verdict]:
    for message in day.lost:
        yield Verdict(LOST, message.edition, Severity.DAMAGE, _lost_words(message))
    for person, edition in _behind(company, day):
        why = Text(
            "{person} still uses edition {old}, but edition {newest} is posted",
            {"person": person, "old": edition, "newest": day.newest},
        )
        yield Verdict(TOO_MANY, edition, Severity.DAMAGE, why)


def _behind(company: Company, day: Day) -> list[tuple[str, int]]:
    uses = zip(PEOPLE, day.uses, strict=True)
    return [(person, edition) for person, edition in uses if company.agreed_min is None and edition < day.newest - 1]


def _time_of_day(minutes: int) -> str:
    return f"{12 + minutes // 60}:{minutes % 60:02d}"


def _line(company: Company, step: str, before: Day, then: Day) -> TraceLine:
    who, *words = step.split(".")
    if who == "wait":
        values: dict[str, str | int | Text] = {"time": _time_of_day(then.min)}
        changed = [person for person, a, b in zip(PEOPLE, before.uses, then.uses, strict=True) if a != b]
        if not changed:
            return TraceLine(step, OFFICE, "", Text("it is {time}", values))
        values |= {"people": _names(changed), "agreed": _time_of_day(company.agreed_min or 0)}
        text = Text("it is {time}; by the watch of {people} it is {agreed} or later, so edition 2 applies", values)
        return TraceLine(step, OFFICE, "", text)
    if who == "post":
        handbook_text = company.editions[then.newest - 1].text
        text = Text("edition {number} is posted: {handbook}", {"number": then.newest, "handbook": handbook_text})
        return TraceLine(step, OFFICE, "", text)
    person = _person(who)
    if words == ["looks"]:
        text = Text(
            "{person} looks at the handbook and now uses edition {number}", {"person": person, "number": then.newest}
        )
        return TraceLine(step, person, "", text)
    message = then.written[-1]
    values = {
        "sender": person,
        "receiver": message.receiver,
        "channel": WORDS[name_of(message.by)],
        "number": message.edition,
    }
    if message.is_lost:
        text = Text(
            "{sender} writes to {receiver} by {channel}: lost. "
            "{receiver} uses edition {number}, which does not read {channel}",
            values,
        )
        return TraceLine(step, person, message.receiver, text, Severity.DAMAGE)
    return TraceLine(step, person, message.receiver, Text("{sender} writes to {receiver} by {channel}: found", values))
