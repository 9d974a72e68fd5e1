"""The file that describes a rollout (docs/reference/rollouts.md). A parameter or result column named in `[values]` is
what the application means. Mistakes are refused with line, key and a hint."""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from rollouts.orm import BadOrm, operations_of
from rollouts.statements.effects import Query, Statement
from rollouts.statements.errors import NotModelled
from rollouts.statements.expressions import Expression
from rollouts.statements.reading import BadStatement, expression_of, statement_of
from rollouts.statements.tables import Trigger
from rollouts.statements.values import Value

SCHEMA_LAB = "schema-lab"
DEPLOYS_MAX, OPERATIONS_MAX, STATEMENTS_MAX, VALUES_MAX = 40, 20, 8, 4


class FileMistake(ValueError):
    def __init__(self, key: str, message: str, line: int | None = None) -> None:
        super().__init__(f"{f'line {line}: ' if line else ''}{f'{key}: ' if key else ''}{message}")
        self.key, self.message, self.line = key, message, line


@dataclass(frozen=True, slots=True)
class Operation:
    """An action of a release for one user: statements of one transaction, unless `autocommit`. `gone`: the row counts
    as deleted after it. `lingers`: it may run once more after its release has gone. `prepared`: its statements were
    prepared when the release began."""

    name: str
    statements: tuple[Statement, ...]
    autocommit: bool = False
    gone: bool = False
    lingers: bool = False
    prepared: bool = False


@dataclass(frozen=True, slots=True)
class Release:
    name: str
    operations: Mapping[str, Operation]


@dataclass(frozen=True, slots=True)
class SchemaDeploy:
    """Schema statements, each a transaction of its own."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReleaseDeploy:
    """Rolls out a release beside the one before, then alone; `is_beside`: until a GoneDeploy."""

    release: Release
    is_beside: bool = False


@dataclass(frozen=True, slots=True)
class GoneDeploy:
    name: str


@dataclass(frozen=True, slots=True)
class BackfillDeploy:
    """Statements that run once for each key, each in a transaction; a first SELECT reads in the application."""

    statements: tuple[Statement, ...]
    by_key: bool


@dataclass(frozen=True, slots=True)
class TriggerDeploy:
    table: str
    trigger: Trigger


Deploy = SchemaDeploy | ReleaseDeploy | GoneDeploy | BackfillDeploy | TriggerDeploy


@dataclass(frozen=True, slots=True)
class Rollout:
    """`source` is the file's own data, from which repairs make changed files."""

    tables: tuple[str, ...]
    key: str
    values: Mapping[str, tuple[Value, ...]]
    before: Release
    deploys: tuple[Deploy, ...]
    rows: int | None = None
    """How many logical rows are explored; None: as many as the statements ask for."""

    rollback_until: int = 0
    database: str = "postgresql 18"
    source: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def is_on_lab(self) -> bool:
        """True for Schema Lab: the planner's versions, two in use at once; transactions are SERIALIZABLE."""
        return self.database == SCHEMA_LAB


_TOP = ("database", "isolation", "tables", "key", "rows", "values", "before", "deploy", "rollback_until", "title")
_DEPLOY = ("schema", "release", "gone", "backfill", "trigger")
_TITLE, _BESIDE = "title", "beside"
"""Of a deploy: its name for a reader; of a release: the one before it stays."""

_RELEASE = ("release", "does", "like", "orm")
_OPERATION = ("sql", "autocommit", "gone", "lingers", "prepared")


DEPTH_MAX = 8
"""A statement in a table of an operation of the release before the first lies at 5."""


def toml_of(text: str) -> dict[str, Any]:
    """Raises `FileMistake`, with its line, also for a number that Python does not read, and for what is nested deeper
    than any rollout: a message could not show it."""
    try:
        body = tomllib.loads(text, parse_float=Decimal)
        level: list[Any] = [body]
        for _ in range(DEPTH_MAX):
            level = [one for each in level for one in (each.values() if isinstance(each, dict) else each)]
            level = [one for one in level if isinstance(one, dict | list)]
        if level:
            raise RecursionError
        return body
    except RecursionError:
        raise FileMistake("", f"values are nested deeper than {DEPTH_MAX} levels") from None
    except (ValueError, InvalidOperation) as error:
        at = re.search(r"\(at line (\d+)", str(error))
        message = f"this is not TOML: {re.split(r' [(]at|;', str(error), maxsplit=1)[0]}"
        raise FileMistake("", message, int(at[1]) if at else text.count("\n") + 1) from None  # at its end


def rollout_of(text: str) -> Rollout:
    """Raises `FileMistake`, `NotModelled`."""
    body = toml_of(text)
    try:
        return rollout_from(body)
    except FileMistake as error:
        raise FileMistake(error.key, error.message, _line_of(text, error.key)) from None


def rollout_from(body: Mapping[str, Any]) -> Rollout:
    return _Reader(body).rollout()


def _line_of(text: str, key: str) -> int | None:
    """The line of a key such as "deploy.3.does.rename", or of its nearest parent."""
    places: dict[str, int] = {}
    section, deploys = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?\s*([\w.\- ]+?)\s*\]\]?\s*(#.*)?$", line):
            name, _, rest = header[1].partition(".")
            deploys += line.lstrip().startswith("[[") and name == "deploy"
            section = ".".join(part for part in (f"deploy.{deploys}" if name == "deploy" else name, rest) if part)
            places.setdefault(section, number)
        elif pair := re.match(r"""\s*([\w.\-"' ]+?)\s*=""", line):
            name = re.sub(r"""["' ]""", "", pair[1])
            places.setdefault(f"{section}.{name}" if section else name, number)
    while key:
        if key in places:
            return places[key]
        below = [line for place, line in places.items() if place.startswith(f"{key}.")]
        if below:
            return min(below)
        key = key.rpartition(".")[0]
    return None


class _Reader:
    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body
        self._releases: dict[str, Release] = {}
        self._running: list[str] = []

    def rollout(self) -> Rollout:
        body = self._body
        self._known(body, _TOP, "")
        key = self._text(body.get("key", "id"), "key")
        values = dict(self._values())
        if key in values:
            raise FileMistake(f"values.{key}", f"{key} is the key: its values are made for it, leave it out here")
        self._key, self._names = key, values
        database = self._text(body.get("database", "postgresql 18"), "database")
        modelled = "serializable" if database == SCHEMA_LAB else "read committed"
        isolation = body.get("isolation", modelled)
        if isolation != modelled:
            raise FileMistake("isolation", f'"{modelled}" is modelled, not {isolation!r}')
        if database != SCHEMA_LAB and not re.fullmatch(r"postgresql( \d+)?", database):
            known = f'"postgresql" with or without a version, and "{SCHEMA_LAB}", are modelled'
            raise FileMistake("database", f"{known}, not {database!r}")
        tables = self._texts(self._needed(body, "tables", ""), "tables")
        before = self._release(self._needed(body, "before", ""), "before")
        self._running = [before.name]
        deploys = body.get("deploy", [])
        if not isinstance(deploys, list) or len(deploys) > DEPLOYS_MAX:
            raise FileMistake("deploy", f"at most {DEPLOYS_MAX} deploys, each as [[deploy]] on a line of its own")
        rows, until = body.get("rows"), body.get("rollback_until", 0)
        if rows is not None and rows not in (1, 2):
            raise FileMistake("rows", f"1 or 2, not {rows!r}")
        if not isinstance(until, int) or not 0 <= until <= len(deploys):
            raise FileMistake("rollback_until", f"the number of a deploy, 0 to {len(deploys)}, not {until!r}")
        found = tuple(self._deploy(one, f"deploy.{n}") for n, one in enumerate(deploys, 1))
        return Rollout(tables, key, values, before, found, rows, until, database, body)

    def _known(self, part: Any, keys: tuple[str, ...], at: str) -> None:
        if not isinstance(part, Mapping):
            raise FileMistake(at, "keys and values are expected here")
        for name in part:
            if name not in keys:
                close = difflib.get_close_matches(name, keys, 1)
                advice = f"did you mean {close[0]}?" if close else f"there are: {', '.join(keys)}"
                raise FileMistake(f"{at}.{name}".lstrip("."), f"there is no such key here; {advice}")

    def _needed(self, part: Mapping[str, Any], key: str, at: str) -> Any:
        if key not in part:
            raise FileMistake(at, f"{key} is missing")
        return part[key]

    def _text(self, value: Any, at: str) -> str:
        if not isinstance(value, str) or not value.strip():
            raise FileMistake(at, f"a text is expected, not {value!r}")
        return value

    def _texts(self, value: Any, at: str) -> tuple[str, ...]:
        texts = value if isinstance(value, list) else [value]
        if not texts or len(texts) > STATEMENTS_MAX:
            raise FileMistake(at, f"1 to {STATEMENTS_MAX} statements are expected, not {len(texts)}")
        return tuple(self._text(one, at) for one in texts)

    def _values(self) -> Iterator[tuple[str, tuple[Value, ...]]]:
        values = self._needed(self._body, "values", "")
        if not isinstance(values, Mapping) or not values:
            raise FileMistake("values", 'give two values or three of each name: name = ["Ann", "Bob"]')
        for name, given in values.items():
            if not isinstance(given, list) or not 2 <= len(given) <= VALUES_MAX:
                raise FileMistake(f"values.{name}", f"a list of 2 to {VALUES_MAX} values is expected")
            if any(isinstance(one, list | dict) for one in given) or len(set(map(repr, given))) < len(given):
                raise FileMistake(f"values.{name}", "the values must be plain and different")
            yield name, tuple(given)

    def _release(self, part: Any, at: str) -> Release:
        self._known(part, _RELEASE, at)
        name = self._text(self._needed(part, "release", at), f"{at}.release")
        if name in self._releases:
            raise FileMistake(f"{at}.release", f"release {name!r} exists: give each its own name")
        operations: dict[str, Operation] = {}
        if "like" in part:
            like = self._text(part["like"], f"{at}.like")
            if like not in self._releases:
                names = ", ".join(repr(one) for one in self._releases) or "none"
                raise FileMistake(f"{at}.like", f"there is no earlier release {like!r}; there are: {names}")
            operations |= self._releases[like].operations
        if "orm" in part:
            try:
                written = operations_of(part["orm"], self._key)
            except BadOrm as error:
                raise FileMistake(f"{at}.orm", str(error)) from None
            operations |= {name: self._operation(name, one, f"{at}.orm") for name, one in written.items()}
        does = part.get("does", {})
        if not isinstance(does, Mapping):
            raise FileMistake(f"{at}.does", 'write does.NAME = "a statement"')
        operations |= {name: self._operation(name, one, f"{at}.does.{name}") for name, one in does.items()}
        if not operations:
            raise FileMistake(at, f"release {name!r} does nothing: give it does.NAME, like or orm")
        if len(operations) > OPERATIONS_MAX:
            raise FileMistake(at, f"at most {OPERATIONS_MAX} operations, not {len(operations)}")
        self._releases[name] = release = Release(name, operations)
        return release

    def _operation(self, name: str, part: Any, at: str) -> Operation:
        flags: Mapping[str, Any] = {}
        if isinstance(part, Mapping):
            self._known(part, _OPERATION, at)
            flags = {key: value for key, value in part.items() if key != "sql"}
            for key, value in flags.items():
                if not isinstance(value, bool):
                    raise FileMistake(f"{at}.{key}", f"true or false is expected, not {value!r}")
            part = self._needed(part, "sql", at)
        statements = tuple(self._statement(text, at) for text in self._texts(part, at))
        self._check_parameters(statements, at)
        return Operation(name, statements, **flags)

    def _statement(self, text: str, at: str) -> Statement:
        try:
            return statement_of(text)
        except BadStatement as error:
            raise FileMistake(at, str(error)) from None
        except NotModelled as error:
            raise NotModelled(f"{at}: {error}") from None

    def _check_parameters(self, statements: tuple[Statement, ...], at: str) -> None:
        """Each parameter is the key, stands in [values], or comes from an earlier statement."""
        known = {self._key, *self._names}
        for statement in statements:
            for name in statement.parameters:
                if name not in known:
                    close = difflib.get_close_matches(name, known, 1)
                    advice = f"; did you mean :{close[0]}?" if close else ""
                    message = f":{name} is neither the key, nor in [values], nor a result of a statement before it"
                    raise FileMistake(at, message + advice)
            known |= {output.name for output in statement.outputs}

    def _deploy(self, part: Any, at: str) -> Deploy:
        kinds = [name for name in _DEPLOY if isinstance(part, Mapping) and name in part]
        if len(kinds) != 1:
            if not kinds:
                self._known(part, (*_DEPLOY, *_RELEASE, _TITLE, _BESIDE), at)
            raise FileMistake(
                at, f"a deploy is one of {', '.join(_DEPLOY)}; this one has {' and '.join(kinds) or 'none'}"
            )
        kind = kinds[0]
        if _TITLE in part:
            self._text(part[_TITLE], f"{at}.{_TITLE}")
        if kind == "release":
            return self._release_deploy(part, at)
        self._known(part, (kind, _TITLE), at)
        if kind == "gone":
            return self._gone(part["gone"], f"{at}.gone")
        if kind == "trigger":
            return self._trigger(part["trigger"], f"{at}.trigger")
        texts = self._texts(part[kind], f"{at}.{kind}")
        if kind == "schema":
            return SchemaDeploy(texts)
        statements = tuple(self._statement(text, f"{at}.backfill") for text in texts)
        self._check_parameters(statements, f"{at}.backfill")
        by_key = any(self._key in one.parameters for one in statements)
        if by_key and not all(self._key in one.parameters or _flows(one, statements) for one in statements):
            raise FileMistake(f"{at}.backfill", f"every statement of it names :{self._key}, or none does")
        for name in (name for one in statements for name in one.parameters if name in self._names):
            if not any(name == output.name for one in statements for output in one.outputs):
                raise FileMistake(f"{at}.backfill", f":{name} is what a user writes: a backfill has the rows only")
        return BackfillDeploy(statements, by_key)

    def _release_deploy(self, part: Mapping[str, Any], at: str) -> ReleaseDeploy:
        if len(self._running) > 1:
            old, new = self._running
            raise FileMistake(
                f"{at}.release", f"release {old!r} still runs beside {new!r}: first a deploy gone = {old!r}"
            )
        is_beside = part.get(_BESIDE, False)
        if not isinstance(is_beside, bool):
            raise FileMistake(f"{at}.{_BESIDE}", f"true or false is expected, not {is_beside!r}")
        release = self._release({name: one for name, one in part.items() if name not in (_TITLE, _BESIDE)}, at)
        self._running = [*self._running, release.name] if is_beside else [release.name]
        return ReleaseDeploy(release, is_beside)

    def _gone(self, name: Any, at: str) -> GoneDeploy:
        if len(self._running) < 2 or name != self._running[0]:
            runs = " and ".join(map(repr, self._running))
            advice = (
                f"write gone = {self._running[0]!r}" if len(self._running) > 1 else "give that release beside = true"
            )
            raise FileMistake(at, f"{name!r} is not a release that runs beside the newest; {runs} runs: {advice}")
        del self._running[0]
        return GoneDeploy(str(name))

    def _trigger(self, part: Any, at: str) -> TriggerDeploy:
        self._known(part, ("on", "when", "set", "name"), at)
        table = self._text(self._needed(part, "on", at), f"{at}.on")
        sets = self._needed(part, "set", at)
        if not isinstance(sets, Mapping) or not sets:
            raise FileMistake(f"{at}.set", 'write set = { column = "an expression over OLD and NEW" }')
        condition = self._expression(part["when"], f"{at}.when") if "when" in part else None
        assignments = tuple((name, self._expression(text, f"{at}.set.{name}")) for name, text in sets.items())
        name = self._text(part.get("name", f"{table}_{'_'.join(sets)}"), f"{at}.name")
        return TriggerDeploy(table, Trigger(name, condition, assignments))

    def _expression(self, text: Any, at: str) -> Expression:
        try:
            return expression_of(self._text(text, at))
        except BadStatement as error:
            raise FileMistake(at, str(error)) from None
        except NotModelled as error:
            raise NotModelled(f"{at}: {error}") from None


def _flows(statement: Statement, statements: tuple[Statement, ...]) -> bool:
    outputs = {output.name for one in statements if isinstance(one, Query) for output in one.outputs}
    return bool(outputs & set(statement.parameters))
