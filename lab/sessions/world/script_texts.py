"""Words of the lab's cluster, as texts: golden scripts word it in English, a page in any language.

    n1 still leases version 1 (expires in 18 s)              {node} still leases v{version}, for {seconds} s at most
    n1: under t@2;  + t (1) exists;  + t (1) a = 1           n1, as v2: + row 1, + a = 1 of row 1

Refusals stand beside a step that may not be taken; lines of output tell what came of one that was.
What no pattern knows stays in English: a test plays sessions at random and finds none.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby

from catalog.elements import State
from catalog.text.message import STATES
from changes.plan.model import Step, StepKind
from lab.texts import Patterns, Text, clauses, listed, text_of

NODE, VERSION = r"(?P<node>n\d+)", r"t@(?P<version>\d+)"
REQUEST = r"n\d+: request (?P<number>\d+):"

REFUSALS: Patterns = (
    (rf"{NODE} is frozen", Text("{node} is frozen")),
    (rf"{NODE} is frozen: it hears nothing", Text("{node} is frozen: it hears nothing")),
    (rf"{NODE} is not running", Text("{node} is not running")),
    (rf"{NODE} is in a transaction already", Text("{node} is in a transaction already")),
    (rf"{NODE} is not in a transaction", Text("{node} is not in a transaction")),
    (rf"{NODE} waits for a lease on t", Text("{node} still waits for its lease")),
    (rf"there is no message of {NODE}", Text("no message of {node} is under way")),
    (
        rf"what {NODE} is going to hear is its own: it can't be lost",
        Text("what {node} is going to hear is its own: it can't be lost"),
    ),
    (
        rf"node {NODE} is draining: it takes no new leases, use another node",
        Text("{node} is being drained: it takes no new leases"),
    ),
    (
        rf"node {NODE} has stopped serving: a lease could not be renewed",
        Text("{node} has stopped serving: a lease could not be renewed"),
    ),
    (rf"node {NODE} stops: (?P<why>.+)", Text("{node} stops serving: {why}")),
    (r"there is no such row", Text("there is no such row")),
    (r"t \((?P<row>\d+)\) exists already \(23505\)", Text("row {row} exists already")),
    (
        r"another transaction changed what this one read or wrote \(40001\)",
        Text("another transaction changed what this one read or wrote"),
    ),
    (r"the transaction was ended: (?P<why>.+) \(40001\)", Text("its transaction was ended: {why}")),
    (
        rf"{VERSION} is below the fence: version (?P<fence>\d+) is the oldest accepted \(40001\)",
        Text("v{version} is below the fence: v{fence} is the oldest that is accepted"),
    ),
    (
        rf"{VERSION} is newer than the transaction's snapshot \(40001\)",
        Text("v{version} is newer than what the transaction sees"),
    ),
    (
        r"index t\.(?P<index>\w+) is (?P<state>[a-z-]+): queries may use it once it is public",
        Text("{index} is {state}: queries may use it once it is public"),
    ),
    (rf"there is no index (?P<index>\w+) of {VERSION}", Text("to v{version} there is no index {index}")),
    (r"change \d+ has nothing to do: it is ended", Text("the change is over")),
    (rf"{NODE} has no request that is planned", Text("{node} has no request that is planned")),
    (
        rf"{NODE} has no request that the storages have accepted",
        Text("{node} has no request that the storages have accepted"),
    ),
    (rf"{NODE} reloads nothing", Text("{node} reloads nothing")),
    (r"cannot publish t@(?P<version>\d+): (?P<hindrances>.+)", Text("v{version} cannot be published: {hindrances}")),
)
"""Refusals of commands that palettes can lead to."""

REASONS: Patterns = (
    (r"it was past its deadline", Text("it was past its deadline")),
    (r"its lease on version (?P<version>\d+) ran out", Text("its lease on v{version} ran out")),
    (rf"the lease on {VERSION} could not be renewed before it ends", Text("its lease on v{version} was not renewed")),
    (rf"the lease on {VERSION} was over before it arrived", Text("its lease on v{version} was over before it arrived")),
    (r"it is older than the oldest version accepted", Text("its version is older than the one the storage knows")),
    (r"the request's time is over", Text("its time is over")),
    (r"its node has ended", Text("its node has ended")),
    (
        r"its session was ended: it held back a change without a lease",
        Text("it held back a change without a lease"),
    ),
    (r"the connection was lost", Text("its connection was lost")),
    (r"the database does not answer", Text("the database does not answer it")),
)
"""Why a transaction or a node ended."""

HINDRANCES: Patterns = (
    (
        rf"{NODE} still leases version (?P<version>\d+) \(expires in (?P<seconds>[\d.]+) s\)",
        Text("{node} still leases v{version}, for {seconds} s at most"),
    ),
    (
        r"a transaction still runs on version (?P<version>\d+)",
        Text("a transaction still runs under v{version}"),
    ),
)
"""Who a change waits for."""

OUTPUT: Patterns = (
    (rf"published {VERSION}: index (?P<changes>.+)", Text("v{version} is published: {changes}")),
    (rf"drained {VERSION}", Text("v{version} is drained: nobody uses an older version any more")),
    (r"waits: (?P<hindrances>.+)", Text("the change waits: {hindrances}")),
    (rf"{NODE}: leased {VERSION}", Text("{node} leases v{version}")),
    (rf"{NODE}: renewed {VERSION}", Text("{node} renews its lease on v{version}")),
    (rf"{NODE}: released {VERSION}", Text("{node} gives v{version} back")),
    (rf"{NODE}: lost its lease on {VERSION}", Text("{node} has lost its lease on v{version}")),
    (rf"{NODE}: learns of {VERSION} as it renews", Text("{node} learns of v{version} as it renews")),
    (rf"{NODE}: hears of {VERSION}", Text("{node} hears of v{version}")),
    (rf"{NODE}: its request arrives", Text("the request of {node} arrives")),
    (rf"{NODE}: cannot lease(?: t)?: (?P<why>.+)", Text("{node} gets no lease: {why}")),
    (rf"{NODE}: cannot renew: (?P<why>.+)", Text("{node} cannot renew its lease: {why}")),
    (rf"{NODE}: cannot release: (?P<why>.+)", Text("{node} cannot give its lease back: {why}")),
    (rf"{NODE}: drained", Text("{node} is drained: it holds no lease")),
    (rf"{NODE}: committed", Text("{node} has committed")),
    (rf"{NODE}: exits: (?P<why>.+)", Text("{node} stops: {why}")),
    (rf"{NODE}: all that use {VERSION} end: (?P<why>.+)", Text("whatever {node} does under v{version} ends: {why}")),
    (
        rf"{NODE}: its transaction is past its deadline and ends",
        Text("the transaction of {node} is past its deadline and ends"),
    ),
    (rf"{NODE}: its session on {VERSION} is ended", Text("the session of {node} under v{version} is ended")),
    (rf"{NODE}: waits for a lease on t", Text("{node} waits for a lease")),
    (rf"{NODE}: uses {VERSION}", Text("{node} uses v{version}")),
    (
        rf"published {VERSION}: swap (?P<one>\w+) (?P<other>\w+)",
        Text("v{version} is published: {one} and {other} have exchanged their names"),
    ),
    (rf"{REQUEST} planned with {VERSION}", Text("request {number} is planned with v{version}")),
    (rf"{REQUEST} waits for a reload of t", Text("request {number} waits for a reload of the schema")),
    (rf"{REQUEST} joins the reload of t", Text("request {number} joins the reload that is under way")),
    (rf"{REQUEST} the storages accept {VERSION}", Text("the storage accepts v{version} for request {number}")),
    (
        rf"{REQUEST} refused, and nothing is written: (?P<why>.+)",
        Text("the storage refuses request {number} before anything is written: {why}"),
    ),
    (rf"{REQUEST} done", Text("request {number} is answered: done")),
    (rf"{REQUEST} failed: (?P<why>.+)", Text("request {number} is answered with an error: {why}")),
    (rf"{NODE}: reloads {VERSION}", Text("{node} has loaded v{version}")),
    (rf"{NODE}: refused: (?P<why>.+)", Text("{node} is refused: {why}")),
    (rf"{NODE}: {VERSION}: no row", Text("{node}, as v{version}, finds no row")),
    (rf"{NODE}: {VERSION}: (?P<rows>.+)", Text("{node}, as v{version}, finds {rows}")),
    (rf"{NODE}: under {VERSION}", Text("{node}, as v{version}")),
    (r"cleared \w+: (?P<count>\d+) tombstones", Text("{count} old tombstones are cleared")),
    (r"filled (?P<index>\w+): (?P<count>\d+) put", Text("{index} is filled: {count} entries put")),
    (r"closed the run", Text("the run of the fill is closed")),
    (r"verified (?:index )?(?P<index>\w+)", Text("{index} is verified: each row has its entry")),
    (r"purged (?:index )?\w+: (?P<count>\d+) tombstones", Text("{count} tombstones are purged")),
    (r"change \d+ done", Text("the change is done")),
    (r"failed: (?P<what>.+)", Text("it fails: {what}")),
    (r"change \d+ rolls back: (?P<what>.+)", Text("the change rolls back: {what}")),
    (r"change \d+ rolled back(?:: .+)?", Text("the change is rolled back")),
)
"""The lines that commands of palettes print, without those of pairs."""

PAIRS: Patterns = (
    (r"t \((?P<row>\d+)\)(?: exists)?", Text("row {row}")),
    (r"t \((?P<row>\d+)\) (?P<value>[ab](?: = \d+)?)", Text("{value} of row {row}")),
    (r"\w+ \((?P<value>\d+)\) -> \((?P<row>\d+)\)", Text("the entry {value} of row {row}")),
)
"""A pair as a statement writes it."""

SIGNS: Mapping[str, Text] = {"+": Text("+ {pair}"), "-": Text("- {pair}"), "~": Text("a tombstone for {pair}")}
"""Put, removed, removed with a mark left behind."""

OF_ELEMENTS: Mapping[StepKind, Text] = {
    StepKind.FILL: Text("fill {index}"),
    StepKind.VERIFY: Text("verify {index}"),
    StepKind.DELETE: Text("delete all entries of {index}"),
}

CHANGE = re.compile(r"(?P<index>\w+) (?P<before>[a-z-]+) -> (?P<after>[a-z-]+)")


@lru_cache(maxsize=4096)
def refusal_text(why: str) -> Text:
    """A refusal; of a change that has to wait, whom it waits for."""
    return _known(why, (*REFUSALS, *HINDRANCES))


def reason_text(why: str) -> Text:
    """The reason why a transaction or a node ended."""
    return _known(why, REASONS)


def act_text(step: Step) -> Text:
    """A step of a plan, which moves indexes here."""
    match step.kind:
        case StepKind.PUBLISH:
            moved = [(one.element.name, STATES[one.before], STATES[one.after]) for one in step.transitions]
            changes = [Text("{index} {before} -> {after}", {"index": i, "before": b, "after": a}) for i, b, a in moved]
            return Text("publish v{version}: {changes}", {"version": step.version, "changes": listed(changes)})
        case StepKind.DRAIN:
            return Text("wait for transactions that use versions older than v{version}", {"version": step.version})
        case StepKind.CLOSE:
            return Text("close the run")
        case StepKind.PURGE:
            return Text("purge the tombstones")
    named = {"index": ", ".join(element.name for element in step.elements)}
    return Text(OF_ELEMENTS[step.kind].template, named)


def heard_text(output: Iterable[str]) -> Text:
    """The lines that a command printed, as one sentence: what a statement wrote stands behind the statement."""
    return clauses([*_heard(output)])


def _heard(output: Iterable[str]) -> Iterator[Text]:
    begun: Text | None = None
    for is_pair, lines in groupby(output, key=lambda line: line.startswith("  ")):
        if is_pair:
            changes = listed([_written(line.strip()) for line in lines])
            yield changes if begun is None else Text("{done}: {changes}", {"done": begun, "changes": changes})
            begun = None
            continue
        for line in lines:
            if begun is not None:
                yield begun
            begun = _line(line)
    if begun is not None:
        yield begun


def _line(line: str) -> Text:
    """A line of output, which may say how often it came."""
    once = _known(re.sub(r" \((\d+) times\)$", "", line), OUTPUT)
    times = re.search(r" \((\d+) times\)$", line)
    return once if times is None else Text("{what}, {times} times", {"what": once, "times": times[1]})


def _written(line: str) -> Text:
    sign, _, pair = line.partition(" ")
    return Text(SIGNS[sign].template, {"pair": _known(pair, PAIRS)})


def _known(sentence: str, patterns: Patterns) -> Text:
    """The text of a sentence, and of the sentences within it."""
    return text_of(sentence, patterns, INNER)


def _state(name: str) -> Text:
    return STATES[State(name)]


def _changes(words: str) -> Text:
    found = CHANGE.fullmatch(words)
    if found is None:
        return Text("{why}", {"why": words})
    named = {"index": found["index"], "before": _state(found["before"]), "after": _state(found["after"])}
    return Text("{index} {before} -> {after}", named)


def _refused_or_ended(why: str) -> Text:
    return _known(why, (*REASONS, *REFUSALS))


def _hindrances(words: str) -> Text:
    return clauses([_known(one, HINDRANCES) for one in words.split("; ")])


INNER: Mapping[str, Callable[[str], Text]] = {
    "state": _state,
    "changes": _changes,
    "why": _refused_or_ended,
    "hindrances": _hindrances,
}
"""The names that stand for words which are texts themselves."""
