"""The words on the stage, in the reader's language, by keys of `static/lab/`. A session's sentences come with it."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from django.utils.functional import Promise, lazy
from django.utils.translation import get_language, gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from catalog.text.job_nodes import list_comma
from lab.sessions.severity import CLAUSE_NAMES
from lab.sessions.shown import Text

TEMPLATES_MAX = 4096
HAN = r"[\u4e00-\u9fff]"
GAPS = re.compile(rf"(?<={HAN}) (?={HAN})|(?<=[0-9A-Za-z_])(?={HAN})")
"""A surplus or missing space beside a value in a Chinese sentence."""

ONE = " (one)"
"""The end of a key for a single thing: a language without plurals has no words of its own for it."""


def say(text: Text) -> str:
    return speaker()(text)


def speaker() -> Callable[[Text], str]:
    """`say` for many texts: the reader's language is asked for once."""
    language = get_language() or ""
    is_chinese = language.startswith("zh")

    def worded(text: Text) -> str:
        if not text.template:
            return ""
        values = {name: worded(value) if isinstance(value, Text) else value for name, value in text.values.items()}
        words = _translated(language, text.template).format_map(values).replace(" -> ", " \u2192 ")
        return GAPS.sub(lambda gap: "" if gap[0] else " ", words) if is_chinese else words

    return worded


@lru_cache(maxsize=TEMPLATES_MAX)
def _translated(language: str, template: str) -> str:
    return gettext(template)


def stage_words(*, kind: str | None = None) -> dict[str, str]:
    """The stage's words in the reader's language: with a `kind` of session it is a part of another page, without head
    and explorer, and plays sessions of that kind only."""
    added = [load for name, load in ADDED.items() if kind in (None, name)]
    found = STAGE if kind is not None else STAGE | ON_A_PAGE_OF_ITS_OWN
    every = {key: str(words) for some in (found, *(load() for load in added)) for key, words in some.items()}
    of_one = {key for key in every if key.endswith(ONE) and every[key] == every[key.removesuffix(ONE)]}
    return {key: words for key, words in every.items() if key not in of_one}


def clause_words(clause: str) -> str:
    key = f"clause {clause}"
    return str(next(some[key] for some in (STAGE, *(load() for load in ADDED.values())) if key in some))


ADDED: dict[str, Callable[[], Mapping[str, str | Promise]]] = {}


RULES: dict[str, str | Promise] = {
    "rule L1": _("a lease is needed (L1)"),
    "rule L2": _("two-edition rule (L2)"),
    "rule L7": _("two-version rule (L7)"),
    "rule L8": _("grace after a lease (L8)"),
    "rule L9": _("drain (L9)"),
    "rule L13": _("unreadable tables (L13)"),
    "rule R7": _("closed run (R7)"),
    "rule T1": _("serializable writes (T1)"),
    "rule T2": _("fence (T2)"),
    "rule T3": _("snapshot (T3)"),
    "rule T4": _("deadline (T4)"),
    "rule X6": _("point of no return (X6)"),
}

STAGE: dict[str, str | Promise] = {
    # states, as everywhere
    "state absent": pgettext_lazy("state", "absent"),
    "state delete-only": pgettext_lazy("state", "delete-only"),
    "state write-only": pgettext_lazy("state", "write-only"),
    "state filling": pgettext_lazy("state", "write-only, filling"),
    "state public": pgettext_lazy("state", "public"),
    # actors that are no node
    "actor executor": pgettext_lazy("actor", "publisher"),
    "actor fill": pgettext_lazy("actor", "fill"),
    "actor office": pgettext_lazy("actor", "office"),
    "actor time": pgettext_lazy("actor", "time"),
    "actor store": pgettext_lazy("actor", "store"),
    "actor versions": pgettext_lazy("actor", "versions"),
    "actor catalog": pgettext_lazy("actor", "catalog"),
    "actor network": pgettext_lazy("actor", "network"),
    # how bad
    "holds": _("holds"),
    "danger": _("Danger"),
    "damage": _("Damage"),
    "all hold": _("every clause holds"),
    "under": _("under {version}"),
    "broken": _("{clause} under {version}"),
    "colon": pgettext_lazy("before an explanation", ": "),
    "stop": pgettext_lazy("before a sentence", ". "),
    "clause C1": _("every value belongs to a row and a known column"),
    "clause C2": _("every row has its required values"),
    "clause C3": _("every entry belongs to a known index"),
    "clause C4": _("every row has its entries"),
    "clause C5": _("every entry matches its row"),
    "clause C6": _("every constraint holds"),
    "clause C7": _("nothing else is stored"),
    "clause lost write": _("what was acknowledged is read back"),
    "clause read twice": _("no row is read twice"),
    "clause unreadable value": _("every value that is read fits its column"),
    "clause refused writes": _("no write is refused for what its version cannot name"),
    "clause two versions": _("at most two versions are in use"),
    "clause lost message": _("no message is lost"),
    "clause two editions": _("at most two editions are in use"),
    # names of clauses
    **{f"name {clause}": _(name.template) for clause, name in CLAUSE_NAMES.items()},
    "name lost message": _("lost message"),
    "name two editions": _("too many editions"),
    **RULES,
    # head
    "stage": _("Stage"),
    "address is link": _("This page's address is the link: copy it from the address bar."),
    "problem": _("That did not work"),
    "unreachable": _("The server does not answer. What is shown is the last answer; try again."),
    "refused": _("The session ends here. Its next step cannot be taken: {step} ({why})"),
    "forked": _("A new branch, {branch}: the one before is kept."),
    "parts": _("Parts of the stage"),
    # left
    "steps": _("Possible steps"),
    "cluster": _("Cluster"),
    "checks": _("Clauses"),
    "no steps": _("No step is possible here."),
    "other steps": _("{n} other steps"),
    "other steps (one)": _("{n} other step"),
    "start over": _("Start over"),
    "changes nothing": _("It changes nothing."),
    # centre
    "versions": _("Versions in use"),
    "lanes of": _("Which node uses which version of {table}"),
    "node": _("Node"),
    "newest": _("newest"),
    "in use": _("in use"),
    "not in use": _("not in use"),
    "editions": _("Editions in use"),
    "edition": _("edition {number}"),
    "goes by": _("uses edition {n}"),
    "editions used": _("editions in use: {n}, at most {most}"),
    "no message lost": _("no message is lost"),
    "versions used": _("versions in use: {n}, at most {most}"),
    "too far apart": _("in use together: {which}, which are not neighbours"),
    "leases": _("leases {version}"),
    "lease over": _("its lease has expired"),
    "not used": _("not used"),
    "open transaction": _("Open transaction:"),
    "condition frozen": _("frozen"),
    "condition down": _("down"),
    "condition cut off": _("cut off"),
    "clock": _("{s} s on the clock"),
    "long clock": _("{m} min on the clock"),
    "seconds": _("{s} s"),
    "plan": _("The change"),
    "plan done": _("done"),
    "plan now": _("now"),
    "plan ahead": _("to come"),
    "plan so far": _("{n} of {of} steps done"),
    "all plan": _("all {n} steps"),
    "messages": _("Under way"),
    "to": _("to"),
    "store": _("Rows and entries"),
    "store n": _("store {n}"),
    "store empty": _("The store is empty."),
    "pairs caption": _("Each row with its pairs, and the entries that lead to it"),
    "row": _("Row"),
    "pair row": _("row"),
    "no row": _("none"),
    "its pairs": _("Row and values"),
    "leads to": _("leads to"),
    "entries": _("Entries"),
    "row is not there": _("no such row"),
    "difference +": _("added"),
    "difference -": _("removed"),
    "difference ~": _("changed"),
    "new placement": _("new placement"),
    "tombstone": _("tombstone"),
    "unseen by": _("unseen by {versions}"),
    "hatched": _("a version does not see it"),
    "probe": _("What readers find"),
    "query": _("Query"),
    "by table": _("by table:"),
    "by index": _("by index:"),
    "no index": _("no index to read"),
    "they differ": _("they differ"),
    "they agree": _("they agree"),
    "nothing": _("nothing"),
    "between names": lazy(list_comma, str)(gettext),
    # right
    "trace": _("Trace"),
    "as table": _("As a table"),
    "trace empty": _("Nothing has happened yet. Take a step."),
    "number": _("No."),
    "who": _("Who"),
    "to whom": _("To"),
    "what happens": _("What happens"),
    "verdict": _("Verdict"),
    "branches": _("Branches"),
    "one branch": _("Go back and take another step: both are kept."),
    "branch": _("Branch {branch}"),
    "branch of": _("branch of {n} steps"),
    "branch of (one)": _("branch of {n} step"),
    "n steps": _("{n} steps"),
    "n steps (one)": _("{n} step"),
    "compare with": _("Compare with branch {branch}"),
    "drop branch": _("Remove branch {branch}"),
    "compared": _("Branches {one} and {other} side by side"),
    "end comparing": _("Back to one branch"),
    "first difference": _("here they differ"),
    # bottom
    "transport": _("Transport"),
    "to first": _("First"),
    "to back": _("Back"),
    "to next": _("Next"),
    "to last": _("Last"),
    "play": _("Play"),
    "stop playing": _("Pause"),
    "position": _("Step {at} of {n}"),
    "speed": _("Speed"),
    "let it run": _("Let it run"),
    "stop running": _("Stop"),
    "seed": _("Seed"),
    "stop at danger": _("Stop at danger, too"),
    "stopped at": _("It stopped: {clause}."),
    "nothing left": _("It stopped: there is nothing left to do."),
    "ran far": _("It stopped after {n} steps; nothing broke."),
    "ran far (one)": _("It stopped after {n} step; nothing broke."),
    "on the stage": _("Open in free play, in a new tab"),
    "strip": _("Clauses at each step"),
    "strip caption": _("A row for each clause, a column for each step"),
    "others hold": _("{n} others hold all along"),
    "others hold (one)": _("{n} other holds all along"),
    "all hold along": _("all {n} hold all along"),
    "the start": _("0: the start"),
    "after step": _("After step {n}"),
    # dialogs
    "close": _("Close"),
    # keyboard
    "keyboard": _("Keyboard"),
    "key next": _("next step"),
    "key back": _("one step back"),
    "key first": _("to the start"),
    "key last": _("to the end"),
    "key play": _("play or pause"),
    "key take": _("take the step with this number"),
    "key steps": _("down and up in the list of steps; Enter takes one"),
    "key run": _("let it run"),
    "key branch": _("next branch"),
    "key compare": _("compare two branches, and back"),
    "key link": _("copy the link"),
    "key setup": _("set-up and rules left out"),
    "key present": _("presenter mode"),
    "key help": _("this list"),
    "shortcuts on": _("Use these keys"),
    "without shortcuts": _("Everything can also be reached with Tab and Enter."),
}


def named_clause(clause: str) -> str | Promise:
    key = f"name {clause}"
    return next((some[key] for some in (STAGE, *(load() for load in ADDED.values())) if key in some), clause)


ON_A_PAGE_OF_ITS_OWN: dict[str, str | Promise] = {
    **RULES,
    # head
    "lab": _("Lab"),
    "its chapter": _("its chapter"),
    "set-up": _("Set-up"),
    "single steps": _("Single steps"),
    "copy link": _("Copy link"),
    "copied": _("Copied"),
    "poll": _("Poll"),
    "export": _("Export"),
    "replay live": _("Replay on the live cluster"),
    "export svg": _("Picture (SVG)"),
    "export json": _("Session (JSON)"),
    "export script": _("Golden script"),
    "present": _("Presenter mode"),
    "end presenting": _("Leave presenter mode"),
    "without": _("left out: {rules}"),
    # the explorer
    "explorer": _("The explorer"),
    "is there a way": _("Is there a way to break this?"),
    "what saves": _("What would have saved it?"),
    "goal": _("Looking for"),
    "any damage": _("any damage"),
    "from here": _("From here on, not from the start"),
    "any rows": _("With any rows at first"),
    "ask": _("Ask"),
    "asked from before": _("Asked from the last possible point before: {why}."),
    "asked waits": _("Waiting; {n} before you."),
    "asked runs": _("Searching: {states} states, {depth} steps deep"),
    "asked stopped": _("Stopped."),
    "proved": _("Proved: no schedule leads there."),
    "proved bounds": _("All {states} states within these bounds: {bounds} ({s} s)"),
    "violated": _("There is a way, of {n} single steps; none is shorter."),
    "violated (one)": _("There is a way, of {n} single step; none is shorter."),
    "open branch": _("Open as a branch"),
    "unknown": _("Unknown: the search did not end."),
    "nothing saves": _("No other step before it would have prevented it."),
    "rule saves": _("The rule {rule}, which was left out."),
    "step saves": _("Before step {at}: {step}."),
    "then refused": _("Then this is refused: {step} ({why})"),
    # set-up
    "begin with": _("Begin with"),
    "leave out": _("Rules to leave out, and what each protects"),
    "apply": _("Apply to these steps"),
    "begin": _("Begin"),
}
