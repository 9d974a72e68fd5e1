"""Sentences of the core in another language: its steps, plans and warnings are English, and are read back by patterns.

    fill index by_dest                      {"fill {elements}"}           填充索引 by_dest
    index by_dest absent -> delete-only     {"{element} {before} -> .."}  索引 by_dest 不存在 -> 仅删除

The core says what it does in one language, for terminals, logs and stored plans. A page puts that into its reader's:
the phrase whose template fits is translated, and the words in it that are phrases themselves. What fits nothing stays.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from catalog.text.job_nodes import node_in_words

Translate = Callable[[str], str]

STATES = "absent|delete-only|write-only|reorganising|public"
NAMES = {
    "before": STATES,
    "after": STATES,
    "state": STATES,
    "n": r"\d[\d,]*",
    "seconds": r"(?:< )?\d+\.\d",
    "versions": r"(?>.+?@\d+)(?: (?:and|or) (?>.+?@\d+))*+",
}
"""The words that a name of a template stands for, as a regular expression; of others anything."""
SPOKEN = frozenset(
    {"what", "element", "elements", "pairs", "before", "after", "state", "states", "final", "read", "lost", "status"}
)
"""Names whose words are phrases themselves, or lists of phrases: where they are not, the template does not fit."""

PHRASES = (
    # states
    "absent",
    "delete-only",
    "write-only",
    "reorganising",
    "public",
    # elements by their kinds
    "table",
    "column",
    "index",
    "unique index",
    "constraint",
    "foreign key",
    "placement",
    "{before} → {after}",
    # requests
    "cancel",
    "pause",
    "resume",
    # moves
    "create {element}",
    "add {element}",
    "drop {element}",
    "rename {element}",
    "change the type of {element}",
    "alter {element}",
    "comment on {element}",
    # steps
    "publish {versions}: {what}",
    "wait until no version before {versions} is in use",
    "fill {elements}",
    "verify {elements}",
    "close the run",
    "delete all {pairs}",
    "purge the tombstones of {elements}",
    "the end of its steps",
    "nothing moves",
    "entries of {name}",
    "values of {name}",
    "rows of {name}",
    "pairs of {name}",
    # versions
    "{element} {before} -> {after}",
    "{element} is renamed to {name}",
    "{element} is called so again",
    "{element} has its old default again",
    "{element} has its old numbers again",
    "{element} has its old type again",
    "{element} has its old comment again",
    "{element} has another comment",
    "{element} keeps the primary key",
    "{element} has no default any more",
    "{element} has the default {name}",
    "{element} has numbers of its own",
    "{element} has no numbers any more",
    "{element} is of type {name}",
    "{element} takes every {name}",
    "nodes are coordinated by leases",
    "nodes are coordinated by leases and hashes",
    "nodes are coordinated by hashes, without leases",
    "nodes are coordinated by leases again",
    "nodes are coordinated by leases and hashes again",
    "nodes are coordinated by hashes, without leases again",
    # waits
    "It waits once until no node uses an older version: milliseconds while nodes answer, at most as long as a lease"
    " when one does not.",
    "It waits twice until no node uses an older version: milliseconds while nodes answer, at most as long as a lease"
    " when one does not.",
    "It waits {n} times until no node uses an older version: milliseconds while nodes answer, at most as long as a"
    " lease when one does not.",
    "waited {seconds} s for {nodes}",
    "waited {seconds} s",
    "at once",
    "{n} rows",
    "1 row",
    # rollbacks
    "It takes one version and nothing is lost: there is no rollback, only another change.",
    "What was added is withdrawn again: {pairs} are deleted, and {name} is as it was.",
    "What was added is withdrawn again: {pairs} are deleted, and {name} are as they were.",
    "Nothing was lost yet: {final} again, and {name} is as it was.",
    "Nothing was lost yet: {final} again, and {name} are as they were.",
    "Nothing was lost yet: {name} is as it was.",
    "{element} is {state}",
    # warnings
    "Every row of {name} is read once; each later write of it also writes {index}.",
    "Every row of {name} is read once; one that breaks {rule} makes the change roll back.",
    "Every row of {name} is read once; one without {rule} makes the change roll back.",
    "Every row of {name} is read once; one whose {columns} is not in {rule} makes the change roll back, and is named.",
    "Every row of {name} is written once: its {column} becomes {value}.",
    "Every row of {name} is rewritten: a {new} stands beside the {old}, then takes its place.",
    "Every row of {name} is rewritten: an {new} stands beside the {old}, then takes its place.",
    "Every row of {name} is copied to where {placement} places it: until the change ends it is stored twice, and each"
    " write of it writes both.",
    "If two rows have the same values the check fails, and the change rolls back.",
    "If two rows have the same {columns} the check fails, and the change rolls back.",
    "All rows get the same {columns}: two rows are one too many.",
    "All rows of {name} refer to ({values}): {rule} must have it, or inserts into {child} that leave it to the default"
    " are refused until the change has rolled back.",
    "Queries that use {index} read the whole table instead, from the first version on.",
    "Past delete-only it can't be cancelled: its entries are incomplete from then on.",
    "Each delete from {name} reads {read} then: no other index begins with the columns of foreign key {key}.",
    "Without an index on {columns} each delete from {name} reads {read}: CREATE INDEX ON {index} would help.",
    "all of {name}",
    "all rows of {name} with the same {columns}",
    "All rows of {name} are deleted; undoing the change later restores its structure, not its rows.",
    "All values of {name} are lost; undoing the change later restores the column, not its values.",
    "Foreign key {name} to {other} is dropped with it, before the table leaves public.",
    "Foreign key {name} refers by {column} and is dropped with it.",
    "Constraint {name} reads {column} and is dropped with it.",
    "Index {name} covers it and is dropped with it.",
    "Unique index {name} covers it and is dropped with it.",
    "Index {name} over the primary key is added, which keeps it unique on all storages: once it is public, the change"
    " can't be cancelled.",
    "Index {name} is not needed any more afterwards: it can be dropped then.",
    "Rows that are there keep their {column}; only later inserts see the default.",
    "A value of {column} that is no {type} makes the change roll back, and names the row.",
    "Values of {column} longer than {n} characters are cut, as the cast says.",
    "Values of {column} are rounded to what {type} keeps of a second.",
    "A value of {column} that is rounded into the year 10000 makes the change roll back, and names the row.",
    "No row is read or written: {new} takes all that {old} does.",
    "Values of {column} that are no {type} are accepted from the second version on, because nodes that use the version"
    " before the first cannot read them.",
    "Numbers of {column} begin at {n} unless setval says otherwise, whatever rows have.",
    "From the first version past the check on, rows that break {rule} are accepted.",
    "Equal values are accepted once {name} is delete-only; its entries are deleted.",
    "Once {rule} is absent, a row of {name} may refer to nothing, and a row of {other} may go that others refer to.",
    "Nobody leases {name} any more: a node may use an old version until a storage refuses it, and a statement in a"
    " transaction block then ends in 40001.",
    "A node that has not heard of a new version of {name} is refused, and tries again.",
    # undo
    "All rows written to {name} since are deleted.",
    "It can be undone only once foreign key {key} of {name}, which refers by {index}, is dropped.",
    "Only the structure comes back: the rows of {name} are deleted.",
    "Only the structure comes back: {lost}.",
    "the values of {name} are deleted",
    "No undo: column {name}, which {element} reads, no longer exists.",
    "No undo: foreign key {name} refers to a table or column that no longer exists.",
    "No undo: {element} no longer exists.",
    "No undo: {element} has changed since.",
    "No undo: it would be refused ({message}).",
    "No undo: it would also change {element}.",
    "No undo: change {n} undoes it already.",
    # ends of traffic and of processes
    "its time was over",
    "its process ended without a word",
    "another run took its place",
    "the cluster stopped",
    "{name} stopped it",
    "run {n} of traffic has ended: {what}",
    "run {n} of traffic has ended: {why}",
    "{who} has stopped it already: it ends in a moment",
    "{name} is down already: it stays down until it is started",
    "{name} is starting: it can be reached in a moment",
    "{name} is frozen already: thaw it",
    "{name} is frozen already",
    "{name} is up already",
    "{name} is not frozen",
    "{name} is draining already",
    "{name} is not draining",
    "{name} has left: start it first",
    "ended itself because it could not renew its lease",
    "ended itself because its event loop stood still for a whole lease",
    "was ended by {name}",
    "ended without being asked",
    "crashed with exit code {n}",
    # statuses of a change, and why nobody may act on it now
    "queued",
    "running",
    "waiting",
    "paused",
    "rolling back",
    "awaiting",
    "done",
    "failed",
    "cancelled",
    "change {n} has ended: {status}",
    "change {n} awaits approval: it has not begun",
    "change {n} is being cancelled: {who} asked for it",
    "change {n} is about to pause: {who} asked for it",
    "change {n} is paused already",
    "change {n} is about to go on: {who} asked for it",
    "change {n} is not paused: it is {status}",
    "change {n} rolls back already",
    "change {n} can't be cancelled any more: the deletion of {pairs} has begun",
    "change {n} can't be cancelled any more: {states} since {versions}",
    "it is a change of {owner}: only {who} and operators may pause, resume, throttle or cancel it",
    "change {n} awaits no approval: it is {status}",
    "change {n} was submitted by {who}: somebody else has to decide",
    "change {n} has not ended: it is {status}",
    "change {n} is {status}: there is nothing to try again",
    "change {n} has done the same",
    "change {n} tries the same already: it is {status}",
    "change {n} can't be throttled now: none of its reorganisations writes",
    "change {n} has no target to move now: none of its reorganisations works or waits",
    "a throttle is {least} to {most} rows per second: {given} is not",
    "statements may take {least} to {most} milliseconds longer: {given} is not among them",
    "{least} to {most} % of the statements may be kept: {given} is not among them",
    "{given} is no whole number of rows per second",
    "{given} is no whole number of milliseconds",
    "{given} is no whole number of percents",
    # what a proof saw, and why there is none
    "the fill met a tombstone that a writer had left",
    "the fill met a pair that a writer had put",
    "a node one version behind wrote after the next was published",
    "a node one version behind removed a pair",
    "a second worker took over a range",
    "verification failed and the change rolled back",
    "the change was cancelled on its way",
    "a node wrote that knew the newest version of one table and an older one of the other",
    "a row was refused because what it refers to is not there",
    "a row was not let go because another one refers to it",
    # what a verification found
    "{n} violations of {element}",
    "at least {n} violations of {element}",
    "{n} rows break {element}",
    "at least {n} rows break {element}",
    # elements
    "table {name}",
    "column {name}",
    "optional column {name}",
    "required column {name}",
    "derived column {name}",
    "index {name}",
    "unique index {name}",
    "constraint {name}",
    "foreign key {name}",
    "placement {name}",
)
LISTS = {", ": "{first}, {rest}", " and ": "{first} and {rest}"}
"""What stands between the phrases of a list, each with the template that joins two."""


CHARS_MAX = 4000
"""A longer text is no phrase of the core."""
DEPTH_MAX = 20
"""Of phrases within phrases; those of the core have four."""


def in_other_words(text: str, translate: Translate) -> str:
    """The text in the language of `translate`, as far as phrases fit it; a capital letter at its beginning or none.

    A text may be a stranger's, such as the reason of an approval: each part of it is looked at once.
    """
    if len(text) > CHARS_MAX:
        return text
    reader = _Reader(translate)
    found = reader.phrase(text)
    if found is None and text[:1].isupper():
        found = reader.phrase(text[:1].lower() + text[1:])
    return text if found is None else found


def list_comma(translate: Translate) -> str:
    """The comma between the names of a list: in Chinese another one than between clauses."""
    return translate("{first}, {names}").format(first="", names="")


def nodes_in_other_words(text: str, translate: Translate) -> str:
    """Nodes by what they use, as `changes.executor.state.whom` lists them: "n1, n2 on airports and trips; n3 on x"."""
    found = []
    for use in text.split("; "):
        nodes, _, tables = use.partition(" on ")
        listed = list_comma(translate).join(node_in_words(node, translate) for node in nodes.split(", "))
        used = functools.reduce(
            lambda rest, first: translate("{table} and {tables}").format(table=first, tables=rest),
            reversed(tables.split(" and ")),
        )
        found.append(translate("{nodes} on {tables}").format(nodes=listed, tables=used) if tables else listed)
    return functools.reduce(
        lambda rest, first: translate("{first}; {rest}").format(first=first, rest=rest), reversed(found)
    )


class _Reader:
    def __init__(self, translate: Translate) -> None:
        self._translate = translate
        self._read: dict[str, str | None] = {}
        self._depth = 0

    def phrase(self, text: str) -> str | None:
        """The translated phrase, or list of phrases; None where no template fits."""
        for separator, template in LISTS.items():
            pieces = text.split(separator)
            spoken = [phrased for piece in pieces if (phrased := self._one(piece)) is not None]
            if len(spoken) == len(pieces) > 1:
                link = self._translate(template)
                return functools.reduce(lambda rest, first: link.format(first=first, rest=rest), reversed(spoken))
        return self._one(text)

    def _one(self, text: str) -> str | None:
        if text not in self._read and self._depth < DEPTH_MAX:
            self._depth += 1
            self._read[text] = self._fitting(text)
            self._depth -= 1
        return self._read.get(text)

    def _fitting(self, text: str) -> str | None:
        for template, pattern in _patterns():
            found = pattern.fullmatch(text)
            if found is None:
                continue
            words = found.groupdict()
            spoken = {name: self.phrase(words[name]) for name in SPOKEN & words.keys()}
            if "nodes" in words:
                spoken["nodes"] = nodes_in_other_words(words["nodes"], self._translate)
            if None not in spoken.values():
                return self._translate(template).format_map(words | spoken)
        return None


@functools.cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((template, _pattern(template)) for template in PHRASES)


def _pattern(template: str) -> re.Pattern[str]:
    def words(found: re.Match[str]) -> str:
        return f"(?P<{found[1]}>{NAMES.get(found[1], '.+?')})"

    return re.compile(re.sub(r"\\{(\w+)\\}", words, re.escape(template)), re.DOTALL)
