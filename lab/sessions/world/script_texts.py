"""Refusals and output of the lab's cluster, as texts for pages. A line that no step of a palette prints stays as it is:
a test plays sessions at random and finds none."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from catalog.elements import State
from catalog.text.message import KINDS, STATES, Text, Values, clauses, listed
from catalog.text.sentence import Sentence
from changes.plan.model import Step, StepKind

TEXTS: Mapping[str, Text] = {
    **{text.template: text for _, text in KINDS.values()},
    # refusals
    "{node} is frozen": Text("{node} is frozen"),
    "{node} is frozen: it hears nothing": Text("{node} is frozen: it hears nothing"),
    "{node} is not running": Text("{node} is not running"),
    "{node} is in a transaction already": Text("{node} is in a transaction already"),
    "{node} is not in a transaction": Text("{node} is not in a transaction"),
    "{node} waits for a lease on {table}": Text("{node} still waits for its lease"),
    "there is no message of {node}": Text("no message of {node} is under way"),
    "what {node} is going to hear is its own: it can't be lost": Text(
        "what {node} is going to hear is its own: it can't be lost"
    ),
    "node {node} is draining: it takes no new leases, use another node": Text(
        "{node} is being drained: it takes no new leases"
    ),
    "node {node} has stopped serving: a lease could not be renewed": Text(
        "{node} has stopped serving: a lease could not be renewed"
    ),
    "node {node} stops: {why}": Text("{node} stops serving: {why}"),
    "there is no such row": Text("there is no such row"),
    "{what} exists already ({sqlstate})": Text("{what} exists already"),
    "another transaction changed what this one read or wrote ({sqlstate})": Text(
        "another transaction changed what this one read or wrote"
    ),
    "the transaction was ended: {why} (40001)": Text("its transaction was ended: {why}"),
    "{what} is below the fence: version {fence} is the oldest accepted (40001)": Text(
        "{what} is below the fence: v{fence} is the oldest that is accepted"
    ),
    "{what} is newer than the transaction's snapshot (40001)": Text("{what} is newer than what the transaction sees"),
    "index {table}.{index} is {state}: queries may use it once it is public": Text(
        "{index} is {state}: queries may use it once it is public"
    ),
    "there is no index {index} of {what}": Text("{what} has no index {index}"),
    "change {change} has nothing to do: it is {mode}": Text("the change has ended"),
    "{node} has no request that is planned": Text("{node} has no request that is planned"),
    "{node} has no request that the storages have accepted": Text(
        "{node} has no request that the storages have accepted"
    ),
    "{node} reloads nothing": Text("{node} reloads nothing"),
    "cannot publish {what}: {hindrances}": Text("{what} cannot be published: {hindrances}"),
    # why a transaction or a node ended
    "it was past its deadline": Text("it was past its deadline"),
    "its lease on version {version} ran out": Text("its lease on v{version} expired"),
    "the lease on {table}@{version} could not be renewed before it ends": Text(
        "its lease on v{version} was not renewed"
    ),
    "the lease on {table}@{version} was over before it arrived": Text(
        "its lease on v{version} was over before it arrived"
    ),
    "it is older than the oldest version accepted": Text("its version is older than the one the storage knows"),
    "the request's time is over": Text("its deadline has passed"),
    "its node has ended": Text("its node has ended"),
    "its session was ended: it held back a change without a lease": Text("it held back a change without a lease"),
    # who a change waits for
    "{node} still leases version {version}{of_table} (expires in {seconds:g} s)": Text(
        "{node} still leases v{version}, for {seconds} s at most"
    ),
    "a transaction still runs on version {version}{of_table}": Text("a transaction still runs under v{version}"),
    # versions and leases
    "{table}@{version}": Text("v{version}"),
    "published {what}: {changes}": Text("{what} is published: {changes}"),
    "published {what}: swap {one} {other}": Text("{what} is published: {one} and {other} have exchanged their names"),
    "{element} {before} -> {after}": Text("{name} {before} -> {after}"),
    "drained {what}": Text("{what} is drained: no transaction uses an older version"),
    "waits: {hindrances}": Text("the change waits: {hindrances}"),
    "{node}: leased {what}": Text("{node} leases {what}"),
    "{node}: renewed {what}": Text("{node} renews its lease on {what}"),
    "{node}: released {what}": Text("{node} gives {what} back"),
    "{node}: lost its lease on {what}": Text("{node} has lost its lease on {what}"),
    "{node}: learns of {what} as it renews": Text("{node} learns of {what} as it renews"),
    "{node}: hears of {what}": Text("{node} hears of {what}"),
    "{node}: its request arrives": Text("the request of {node} arrives"),
    "cannot lease {table}: {why}": Text("it gets no lease: {why}"),
    "cannot lease: {why}": Text("it gets no lease: {why}"),
    "the database does not answer": Text("the database does not answer it"),
    "the connection was lost": Text("its connection was lost"),
    "{node}: drained": Text("{node} is drained: it holds no lease"),
    "{node}: committed": Text("{node} has committed"),
    "{node}: exits: {why}": Text("{node} stops: {why}"),
    "{node}: all that use {used} end: {why}": Text("{node} ends its transactions under {used}: {why}"),
    "{node}: its transaction is past its deadline and ends": Text(
        "the transaction of {node} is past its deadline and ends"
    ),
    "{node}: its session on {what} is ended": Text("the session of {node} under {what} is ended"),
    "{node}: {caller}waits for a lease on {table}": Text("{node} waits for a lease"),
    "{who}uses {what}": Text("{node} uses {what}"),
    "{who}refused: {why}": Text("{node} is refused: {why}"),
    "{node}: refused: {why}": Text("{node} is refused: {why}"),
    # requests
    "{node}: request {number}: planned with {what}": Text("request {number} is planned with {what}"),
    "{node}: request {number}: waits for a reload of {table}": Text(
        "request {number} waits for a reload of the schema"
    ),
    "{node}: request {number}: joins the reload of {table}": Text(
        "request {number} joins the reload that is under way"
    ),
    "{node}: request {number}: the storages accept {what}": Text("the storage accepts {what} for request {number}"),
    "{node}: request {number}: refused, and nothing is written: {why}": Text(
        "the storage refuses request {number} before anything is written: {why}"
    ),
    "{node}: request {number}: done": Text("request {number} is answered: done"),
    "{node}: request {number}: failed: {why}": Text("request {number} is answered with an error: {why}"),
    "{node}: reloads {what}": Text("{node} has loaded {what}"),
    # statements
    "{node}: {what}: no row": Text("{node}, as {what}, finds no row"),
    "{node}: {what}: {rows}": Text("{node}, as {what}, finds {rows}"),
    "{node}: under {what}": Text("{node}, as {what}"),
    "+ {pair}": Text("+ {pair}"),
    "- {pair}": Text("- {pair}"),
    "~ {pair}": Text("a tombstone for {pair}"),
    "{there}{index} ({values}) -> {key}": Text("the entry {value} of row {row}"),
    # reorganisation
    "cleared {elements}: {count} tombstones": Text("{count} old tombstones are cleared"),
    "filled {elements}: {count} put": Text("{elements} is filled: {count} entries put"),
    "closed the run": Text("the run of the fill is closed"),
    "verified {elements}": Text("{elements} is verified: each row has its entry"),
    "purged {elements}: {count} tombstones": Text("{count} tombstones are purged"),
    # the end of a change
    "change {change} done": Text("the change is done"),
    "change {change} cancelled": Text("the change is rolled back"),
    "change {change} cancelled: {error}": Text("the change is rolled back"),
    "change {change} failed: {error}": Text("the change is rolled back"),
    "change {change} rolls back: {error}": Text("the change rolls back: {error}"),
    "failed: {error}": Text("it fails: {error}"),
    # of any
    "{first}, {rest}": Text("{first}, {rest}"),
    "{first}; {rest}": Text("{first}; {rest}"),
    "{line} ({times} times)": Text("{line}, {times} times"),
}

CANNOT: Mapping[str, Text] = {
    "cannot lease {table}: {why}": Text("{node} gets no lease: {why}"),
    "cannot lease: {why}": Text("{node} gets no lease: {why}"),
    "cannot renew: {why}": Text("{node} cannot renew its lease: {why}"),
    "cannot release: {why}": Text("{node} cannot give its lease back: {why}"),
}
WRITTEN = "  {pair}"
"""A pair that a statement wrote, below the line of the statement."""
ROW, VALUE = Text("row {row}"), Text("{value} of row {row}")
OF_ELEMENTS: Mapping[StepKind, Text] = {
    StepKind.FILL: Text("fill {index}"),
    StepKind.VERIFY: Text("verify {index}"),
    StepKind.DELETE: Text("delete all entries of {index}"),
}


def text_of(line: object) -> Text:
    if not isinstance(line, Sentence):
        return Text("{why}", {"why": str(line)})
    values = line.values
    match line.template:
        case "{subject}{content}":
            return _pair(values["subject"], str(values["content"]))
        case "{there}{table} {key}{column}" | "{there}{index} ({values}) -> {key}":
            return _pair(line, "")
        case "{node}: {why}" if isinstance(why := values["why"], Sentence) and why.template in CANNOT:
            return Text(
                CANNOT[why.template].template, {"node": str(values["node"]), "why": _value("why", why.values["why"])}
            )
    text = TEXTS.get(line.template)
    if text is None:
        return Text("{why}", {"why": str(line)})
    return Text(text.template, {name: _value(name, value) for name, value in values.items()})


def _value(name: str, value: object) -> str | int | Text:
    if name in ("before", "after", "state"):
        return STATES[State(value)]
    if isinstance(value, Sentence):
        return text_of(value)
    return value if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def _pair(subject: object, content: str) -> Text:
    assert isinstance(subject, Sentence)
    values: Values = {"row": str(subject.values["key"]).strip("()")}
    if "index" in subject.values:
        entry = TEXTS[subject.template]
        return Text(entry.template, {**values, "value": str(subject.values["values"])})
    column = str(subject.values["column"]).strip()
    return Text(VALUE.template, {**values, "value": column + content}) if column else Text(ROW.template, values)


def act_text(step: Step) -> Text:
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
    """The lines that a command printed, as one sentence: written pairs stand behind their statement."""
    return clauses([*_heard(output)])


def _heard(output: Iterable[str]) -> Iterator[Text]:
    begun: Text | None = None
    for is_pair, lines in groupby(output, key=_is_pair):
        if is_pair:
            changes = listed([text_of(line.values["pair"]) for line in lines if isinstance(line, Sentence)])
            yield changes if begun is None else Text("{done}: {changes}", {"done": begun, "changes": changes})
            begun = None
            continue
        for line in lines:
            if begun is not None:
                yield begun
            begun = text_of(line)
    if begun is not None:
        yield begun


def _is_pair(line: str) -> bool:
    return isinstance(line, Sentence) and line.template == WRITTEN
