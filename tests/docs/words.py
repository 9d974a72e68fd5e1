"""The retired words, what to write instead, and a search for them in all that people read.

Searched are names where they are bound, names of files, docstrings, comments, texts, pages, templates, golden scripts.
Not searched: single words in strings (keys of JSON, columns, URLs and stored values keep their names), SQL, migrations,
tests. The glossary (docs/reference/glossary.md) has the field's words.

    python -m tests.docs.words                    every hit, room by room
    python -m tests.docs.words changes nodes/sql  those of some folders or files
"""

import ast
import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.places import kept, source, tree

PACKAGES = (
    "catalog",
    "storage",
    "leases",
    "expressions",
    "spark_tasks",
    "changes",
    "nodes",
    "lab",
    "schemalab",
    "tools",
)
"""Rooms are listed by two parts of their path in these, by one elsewhere."""
SUFFIXES = (".py", ".md", ".html", ".js", ".css", ".sql", ".script", ".example")
NAMED = ("Makefile", "Procfile")
LEFT_OUT = ("static/vendor/", "static/fonts/")
SQL = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|LISTEN|NOTIFY|DO|BEGIN|SET|LOCK|TRUNCATE|AND|WHERE)\b"
)

STRINGS = (r'"""(?:\\.|[^\\])*?"""', r"'''(?:\\.|[^\\])*?'''", r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'")
STRING_OR_COMMENT = re.compile("|".join((*STRINGS, r"(?P<comment>#[^\n]*)")), re.DOTALL)
"""What may hold a #, and what follows one: many times faster than `tokenize`, which a test compares it with."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A context in which a retired word is right, and why; `under` limits it to some folders."""

    context: str
    reason: str
    under: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class Retired:
    """A row of the table: what is retired, what to write, and where it is looked for. `names` is searched in names that
    were cut into their words (`is_past_turn`: "is past turn"), `text` in everything else, `docstring` in docstrings
    only; a space in a pattern stands for any white space. `under` limits it to folders."""

    retired: str
    write: str
    names: str = ""
    text: str = ""
    docstring: str = ""
    under: tuple[str, ...] = ("",)
    allowed: tuple[Allowed, ...] = ()


DEMO = (
    "tools/",
    "docs/tutorial/",
    "lab/management/commands/demo.py",
    "nodes/management/commands/traffic.py",
    "nodes/traffic/",
)
FIRST_CHAPTER = ("lab/sessions/handbooks.py", "lab/exercises/", "docs/reference/exercises.md")
OBJECTS = (
    r"(columns?|index(es)?|tables?|constraints?|elements?|rows?|entry|entries|pairs?|tombstones?|placements?|versions?)"
)

RETIRED = (
    Retired("house (queue, process)", "maintenance; supervisor", names=r"\bhouse\b", text=r"\bhouse\b"),
    Retired(
        "turn, past the turn",
        "point of no return",
        names=r"^_?turn$|\b(past|early|late|no|the|before) turn\b|\bturn(s|ed)? back\b|^_?turned$|\bcan turn\b",
        text=r"\b(past|before|after|of|and|its|behind) (the|its|their) turn\b|, the turn\b"
        r"|\bthe turn (comes|came|is|was)\b",
    ),
    Retired(
        "walks back, the way back, turned",
        "rolls back, rollback, rolled back",
        names=r"\b(way|ways|walk|walks|walked|road|give) back\b|\bback (road|way)\b",
        text=r"\bwalk(s|ed|ing)? back\b|\bways? (back|forward)\b|\bturn(s|ed|ing)? back\b"
        r"|\bturns? (the|its|a|whole|that) (change|plan|part)s? back\b"
        r"|\bchange (goes|go|went) back\b|\bhas turned\b|\bit turned\b|\bchange turn(s|ed)\b",
        allowed=(Allowed(r"\bturn(s|ed|ing)? back into\b", "the inverse of a function"),),
    ),
    Retired(
        "road, stations",
        "steps, timeline, direction",
        names=r"\b(roads?|stations?)\b",
        text=r"\b(roads?|stations?)\b",
        allowed=(
            Allowed(r"^road$", "a column of changes_step", ("changes/models.py", "changes/admin.py")),
            Allowed(r"\w\.road\b|_id, road,", "a column in SQL"),
            Allowed(r"`road`", "a key of JSON", ("docs/",)),
        ),
    ),
    Retired(
        "wishes",
        "pending requests",
        names=r"\bwish(es)?\b",
        text=r"\bwish(es|ed)?\b",
        allowed=(
            Allowed(
                r"^wishes$|`wishes`",
                "a column of changes_change",
                ("changes/models.py", "changes/admin.py", "changes/services.py"),
            ),
        ),
    ),
    Retired(
        "Grip, LostTheTable, ADRIFT",
        "SchemaChangeLease, LeaseLost",
        names=r"\bgrips?\b|\badrift\b|\blost the table\b",
        text=r"\bgrips?\b|\badrift\b",
    ),
    Retired(
        "take, let go (of a lease)",
        "acquire, release",
        names=r"^_?take$|\btake tables\b|\blet go\b",
        text=r"\b(let|lets|letting) go\b",
        under=("changes/", "leases/", "docs/", "templates/"),
    ),
    Retired(
        "herald, ear, postman, mail",
        "notify, listener, sender, outbox, message",
        names=r"\b(heralds?|ears?|postm[ae]n|mails?|mailbox(es)?)\b",
        text=r"\b(heralds?|ears?|postm[ae]n|mails?|mailbox(es)?)\b",
        allowed=(Allowed(r"\bmails?\b", "a channel of chapter 0's people", FIRST_CHAPTER),),
    ),
    Retired(
        "telling, told, tells, tell",
        "append, report, notify, message",
        names=r"\b(tell|tells|telling|told|untold)\b",
        text=r"\b(is|are|was|were|be|been|then|not|once|has|have|had|all|both) told\b"
        r"|\b(tells?|telling) (the |its |each |a |one |what |all |new |how )?"
        r"(cluster's )?(story|stories|events?|steps?|facts?|samples?|state|seconds?|loss|tables?|end)\b",
        allowed=(
            Allowed(
                r"\b(clients?|users?|people|persons?|operators?|readers?|callers?|workers?|processes|process|nodes?|servers?"
                r"|nobody|somebody|everybody|who\w*|they|he|she|one|others|browsers?|pages?|sockets?|threads?|it|that"
                r"|strike until they|session) "
                r"(is|are|was|were|be|can be|must be|has been|have been|had been)( not| never| then| at once)? told",
                "a person or a process learns something",
            ),
            Allowed(
                r"\btold (apart|to)\b|\bbe told apart\b|\b\w+ told apart\b|\b\w+ told to\b", "distinguished; ordered"
            ),
        ),
    ),
    Retired(
        "said",
        "reported, given, stated; by default",
        names=r"\bsaid\b",
        text=r"\b(is|are|was|were) said\b|\bunless said\b|\bsaid once\b",
    ),
    Retired(
        "whens, fates, doings, deed",
        "step_status, outcome, handlers, action",
        names=r"\b(whens|fates?|doings?|deeds?)\b",
        text=r"\b(whens|fates?|doings|deeds?)\b",
        allowed=(Allowed(r"\bafter doing\b", "the verb"), Allowed(r"\bwhens\b", "CASE WHEN", ("expressions/",))),
    ),
    Retired(
        "asking, claims (of a foreign key)",
        "checks, violations",
        names=r"\b(asking|claims?)\b",
        text=r"\bclaims?\b",
        under=("nodes/execution/", "nodes/foreign_keys/"),
    ),
    Retired("bonds", "foreign keys", names=r"\bbonds?\b", text=r"\bbonds?\b"),
    Retired(
        "flight",
        "pipeline batch; acquisition (of a lease)",
        names=r"\bflights?\b",
        text=r"\b(a|one|the|this|that|next|same|each|every|its|under|whole|of) flight\b"
        r"|\bflights? of (messages|commands|statements)\b",
        allowed=(
            Allowed(r"\b(single|in) flight\b", "the field's terms: one caller works for all; begun and not ended"),
            Allowed(r"\b(\w+ )?flights?\b", "the demo's table", DEMO),
            Allowed(r"\ba flight refers\b", "a row of the demo's table"),
        ),
    ),
    Retired(
        "hand, order, ticket, portion, piece, leaves (of a run)",
        "worker, run control, run token, batch, key range, chunk",
        names=r"\b(hands?|orders?|tickets?|portions?|pieces?|leaves)\b",
        text=r"\b(hands?|tickets?|portions?|pieces?)\b",
        under=("spark_tasks/",),
        allowed=(Allowed(r"\border by\b|\bin order\b", "sorting"),),
    ),
    Retired("heart", "heartbeat", names=r"\bhearts?\b", text=r"\bhearts?\b"),
    Retired(
        "goes, come and go, is gone (of an object)",
        "is dropped, is removed, ends",
        names=r"\bgone\b",
        text=OBJECTS
        + r" (that )?(goes|go|went)\b(?! (on|back|to|into|in|with|along|first|through|by|where|from|down|up|together"
        r"|last|before|write|delete|public|absent|under|between|there|without))"
        r"|" + OBJECTS + r" (that )?(is|are|was|were|has|have) gone\b|\} is gone\b|\bcomes? and go(es)?\b",
        under=("changes/", "catalog/", "storage/", "spark_tasks/", "docs/", "templates/", "README.md"),
    ),
    Retired("there already", "existing, already exists", text=r"\bthere already\b"),
    Retired(
        '"what rests on it"',
        "dependents; depends on",
        names=r"\b(resting|rests on|rest on)\b",
        text=r"\b(rests?|rested|resting) on\b",
        allowed=(Allowed(r"\b[Ss]afety rests on\b", "ordinary English"),),
    ),
    Retired('"what it owes", "owed"', "required", names=r"\b(owes?|owed|owing)\b", text=r"\b(owes?|owed|owing)\b"),
    Retired(
        "a docstring that begins with What, Who, Whose, Whether, Which or How",
        "a verb or a noun first",
        docstring=r"\A\s*(What|Who|Whose|Whether|Which|How)\b",
    ),
    Retired("How it fares", "Status", text=r"\bHow it fares\b"),
    Retired("The way it went", "Steps taken", text=r"\bThe way it went\b"),
    Retired("Rows that do not fit", "Rows that violate it", text=r"\bRows that (do not|don't) fit\b"),
)


@dataclass(frozen=True, slots=True)
class Text:
    """A name, docstring or text of a file, and the line on which it begins."""

    kind: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    path: str
    line: int
    found: str
    row: Retired

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found!r}: write {self.row.write}"


def files() -> list[str]:
    """All that is searched, by its path from the root: what git keeps or would keep."""
    return [path for path in kept() if _is_searched(path)]


def _is_searched(path: str) -> bool:
    is_read = path.endswith(SUFFIXES) or path in NAMED
    is_test = path.startswith("tests/") and not path.endswith(".script")
    return is_read and not is_test and not path.startswith(LEFT_OUT) and "/migrations/" not in path


def room(path: str) -> str:
    """The room a file lies in: `changes/planning`, `changes` for files directly in it; a page is its own."""
    parts = path.split("/")
    if len(parts) == 1 or parts[0] == "docs":
        return path
    return "/".join(parts[:2]) if parts[0] in PACKAGES and len(parts) > 2 else parts[0]


def words_of(name: str) -> str:
    """The words of a name: `NotItsTurn` and `not_its_turn` are "not its turn"."""
    return " ".join(word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name))


def texts(path: str) -> Iterator[Text]:
    """What people read in a file, its name included."""
    yield Text("name", 1, words_of(Path(path).stem))
    if path.endswith(".py"):
        yield from _texts_of_python(path)
    else:
        yield Text("text", 1, source(path))


def _texts_of_python(path: str) -> Iterator[Text]:
    names: dict[str, int] = {}
    docstrings = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Load):  # of four nodes one, and there is nothing to read in it
            continue
        for name in _bound_by(node):
            names.setdefault(name, node.lineno)
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                docstrings |= {id(one.value) for one in node.body[:1] if isinstance(one, ast.Expr)}
            case ast.Constant(value=str() as text) if id(node) in docstrings:
                yield Text("docstring", node.lineno, text)
            case ast.Constant(value=str() as text) if " " in text.strip() and not SQL.match(text):
                yield Text("text", node.lineno, text)
    for name, line in names.items():
        yield Text("name", line, words_of(name))
    yield from comments(source(path))


def comments(python: str) -> Iterator[Text]:
    """The comments of a module: what begins with a # and stands in no string."""
    line, counted = 1, 0
    for match in STRING_OR_COMMENT.finditer(python):
        if match["comment"]:
            line, counted = line + python.count("\n", counted, match.start()), match.start()
            yield Text("text", line, match[0])


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that this node binds: where they come from, not where they are used."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.alias(asname=str() as name):
            yield name
        case (
            ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name)
        ):
            yield name


def hits(path: str) -> list[Hit]:
    found = list(texts(path))
    names = "\n".join(text.text for text in found if text.kind == "name")
    others = "\n\0\n".join(_without_quoted_words(text.text) for text in found if text.kind != "name")
    rows = [row for row in RETIRED if path.startswith(row.under) and _may_hit(row, names, others)]
    return sorted((hit for text in found for row in rows for hit in hits_of(path, text, row)), key=lambda hit: hit.line)


def _may_hit(row: Retired, names: str, others: str) -> bool:
    """False if the row has no hit in a file, told from all its names in one and all its other texts in one: fast."""
    searches = ((row.names, names), (row.text, others), (row.docstring, others))
    return any(pattern and _compiled_for_lines(pattern).search(text) for pattern, text in searches)


def hits_of(path: str, text: Text, row: Retired) -> Iterator[Hit]:
    if not path.startswith(row.under):
        return
    patterns = [row.names] if text.kind == "name" else [row.text, row.docstring if text.kind == "docstring" else ""]
    searched = text.text if text.kind == "name" else _without_quoted_words(text.text)
    for pattern in filter(None, patterns):
        for match in _compiled(pattern).finditer(searched):
            if not _is_allowed(path, searched, match.span(), row):
                line = text.line + searched.count("\n", 0, match.end())
                yield Hit(path, line, " ".join(match[0].split()), row)


def _is_allowed(path: str, text: str, span: tuple[int, int], row: Retired) -> bool:
    return any(
        context.start() <= span[0] and span[1] <= context.end()
        for one in row.allowed
        if path.startswith(one.under)
        for context in _compiled(one.context).finditer(text)
    )


@functools.lru_cache(maxsize=8)
def _without_quoted_words(text: str) -> str:
    """Without single words in quotation marks: they quote a key, a column or a value."""
    return re.sub(r'"\w+"', lambda quoted: '"' + "." * (len(quoted[0]) - 2) + '"', text)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern; a space in it is any white space, the `#` of a comment's next line included."""
    return re.compile(pattern.replace(" ", r"[\s#]+"), re.IGNORECASE if not pattern.startswith(r"\A") else 0)


@functools.cache
def _compiled_for_lines(pattern: str) -> re.Pattern[str]:
    """The pattern, for several texts in one: the beginning of any line counts as that of a text."""
    return re.compile(pattern.replace(" ", r"[\s#]+").replace(r"\A", "^"), re.IGNORECASE | re.MULTILINE)


def main(folders: list[str]) -> None:
    """Print every hit under these folders, and how many there are in each room."""
    found: dict[str, int] = {}
    for path in files():
        if not folders or path.startswith(tuple(folders)):
            for hit in hits(path):
                found[room(path)] = found.get(room(path), 0) + 1
                print(hit)
    for name, number in sorted(found.items()):
        print(f"{number:5} {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
