"""The settings of a session: what SHOW answers, what SET may change, what is reported to libpq. SET is undone with its
transaction or savepoint, SET LOCAL ends with it. Names of two parts (`my.user_id`) are an application's own."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from expressions.dates.zones import TimeStyle, time_style
from expressions.errors import ACTIVE_TRANSACTION, INVALID_NAME, PROGRAM_LIMIT, SqlError
from nodes.settings import kinds
from nodes.settings.checks import CHECKS
from nodes.settings.known import KNOWN, Setting, unrecognized

REPORTED = (
    "server_version", "server_encoding", "client_encoding", "application_name", "default_transaction_read_only",
    "in_hot_standby", "is_superuser", "session_authorization", "DateStyle", "IntervalStyle", "TimeZone",
    "integer_datetimes", "standard_conforming_strings", "scram_iterations", "search_path",
)  # fmt: skip
NO_RESET_ALL = frozenset(
    {"role", "seed", "session_authorization", "transaction_isolation", "transaction_read_only",
     "transaction_deferrable"}
)  # fmt: skip
READ_ONLY, READ_ONLY_AT_FIRST = "transaction_read_only", "default_transaction_read_only"
OF_THE_TRANSACTION = frozenset({READ_ONLY, "transaction_isolation", "transaction_deferrable"})
"""They end with the transaction, however they are set."""
HIDDEN = frozenset({"is_superuser", "role", "seed", "session_authorization"})
"""SHOW ALL leaves them out, as in PostgreSQL."""
NOT_NOW = "55P02"
OWN_PREFIX = "schemalab"
TRACE = "schemalab.trace"
AUTOCOMMIT = "schemalab.autocommit_before_ddl"
COMMIT_FIRST_HINT = (
    f"run it by itself (autocommit), or SET {AUTOCOMMIT} = on, which commits what stands before it;"
    f" in the address of a database: ?options=-c%20{AUTOCOMMIT}%3Don"
)
"""Of a schema change that cannot be part of a transaction: what an application that opened one for it can do."""
LEAST_REPORTED = "client_min_messages"
SEVERITIES = ("NOTICE", "WARNING", "ERROR")
"""Those of messages that a client may not want to hear, from the least on. INFO, which it has asked for, is none."""
CUSTOM_MAX = 1000
NAME_CHARS_MAX = 127
CHARS_MAX = 2**20
"""Characters of all values of a session."""
MARKS_CHARS_MAX = 2**22
"""Characters of what its savepoints can bring back, beside the values of now."""
ENTRY_CHARS = 64
"""What the entry of a value takes, as so many characters."""
_CUSTOM = re.compile(r"[A-Za-z_\x80-\U0010ffff][\w$]*(\.[A-Za-z_\x80-\U0010ffff][\w$]*)+")

OWN = Setting("", "user", "string", "", "", "", "", (), "")
"""What is known of a name of a session's own."""
Values = Mapping[str, str]


@dataclass(eq=False, slots=True)
class Mark:
    """A savepoint: its number, the values, those that last, and how many characters it alone holds of them."""

    number: int
    values: Values
    lasting: Values
    chars: int = 0
    """As the next one was set; 0 before."""


@dataclass(eq=False)
class Variables:
    """The values of one session in their base form; `initial` are those RESET goes back to, where not the defaults."""

    initial: dict[str, str] = field(default_factory=dict)
    changes: int = 0
    has_asked: Callable[[], bool] = lambda: False
    """True once the transaction has read or written: it cannot become one that writes any more."""
    style: TimeStyle = field(init=False)
    statement_s: float | None = field(init=False)
    idle_in_transaction_s: float | None = field(init=False)
    lock_ms: int = field(init=False)
    """How long it may wait for an advisory lock; 0: as long as it takes."""
    is_read_only: bool = field(init=False)
    """The transaction that runs, or the next one, may not write."""
    is_undecided: bool = False
    """Something was set that a rollback would undo."""
    is_traced: bool = field(init=False)
    """The client wants to know what is done for its statements (`nodes.trace`)."""
    silenced: tuple[str, ...] = field(init=False)
    """Severities of messages that the client does not want to hear."""
    commits_before_ddl: bool = field(init=False)
    """A schema change of other tables commits the transaction that it stands in (`nodes.session.schema.ddl`)."""
    _given: Values = field(default_factory=dict)
    """Of `initial`, those that the node has for every session."""
    _values: Values = field(default_factory=dict)
    _lasting: Values = field(default_factory=dict)
    """Those that COMMIT keeps: without what is LOCAL."""
    _before: Values | None = None
    """Those that ROLLBACK goes back to, once a transaction has set one."""
    _marks: list[Mark] = field(default_factory=list)
    """The savepoints that it can return to."""
    _custom: dict[str, str] = field(default_factory=dict)
    """Names of two parts that were set in the session, as they were spelled first, by their small letters."""

    def __post_init__(self) -> None:
        self._derive()

    # -- values -------------------------------------------------------------------------------------------------

    def start_with(self, name: str, value: str) -> None:
        known = self._settable(name)
        self.initial[known] = self._accepted(known, value)
        self._enter(known)
        self._derive()

    def begin_with(self, values: Values) -> None:
        self._given = values
        self.initial.update(values)
        self._derive()

    def get(self, name: str) -> str:
        """The answer to SHOW. Raises 42704 for an unknown setting."""
        known = self.canonical(name)
        return kinds.shown(KNOWN.get(known.lower(), OWN), self._value(known))

    def would_show(self, name: str, value: str | None) -> str:
        """The answer to SHOW after `set`, or after `reset` without a value. Raises what these raise."""
        known = self._settable(name, is_reset=value is None)
        base = self._initial(known) if value is None else self._accepted(known, value)
        return kinds.shown(KNOWN.get(name.lower(), OWN), base)

    def canonical(self, name: str) -> str:
        small = name.lower()
        setting = KNOWN.get(small)
        if setting is not None:
            return setting.name
        known = self._custom.get(small)
        if known is None:
            raise unrecognized(name)
        return known

    def set(self, name: str, value: str, *, is_local: bool = False) -> None:
        """Raises 42704 for an unknown setting, 22023 or 0A000 for a value that cannot be."""
        known = self._settable(name)
        self._put(known, self._accepted(known, value), is_local=is_local)

    def reset(self, name: str, *, is_local: bool = False) -> None:
        known = self._settable(name, is_reset=True)
        self._put(known, self._initial(known) if known in OF_THE_TRANSACTION else None, is_local=is_local)

    def reset_all(self) -> None:
        kept, lasting = (
            {name: value for name, value in values.items() if name in NO_RESET_ALL}
            for values in (self._values, self._lasting)
        )
        self._replace(kept, lasting)

    def is_changed(self, name: str) -> bool:
        """True if the client has it otherwise than the node gave it, by SET or when it connected."""
        return self._value(name) != self._given.get(name, KNOWN[name.lower()].default)

    def all(self) -> Iterator[tuple[str, str, str]]:
        for name in self._listed():
            yield name, self.get(name), KNOWN.get(name.lower(), OWN).description

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of pg_settings: numbers are in a setting's own unit."""
        for name in self._listed():
            value, initial, known = self._value(name), self._initial(name), KNOWN.get(name.lower(), OWN)
            row: dict[str, Any] = dict.fromkeys(("category", "extra_desc", "sourcefile", "sourceline"))
            row |= {"name": name, "setting": value, "reset_val": initial, "source": self._source(name, value, initial)}
            row |= {"context": known.context, "vartype": known.kind, "unit": known.unit or None}
            row |= {"short_desc": known.description, "boot_val": None if known is OWN else known.default}
            row |= {"min_val": known.low or None, "max_val": known.high or None, "pending_restart": False}
            yield row | {"enumvals": list(known.values) or None}

    def shown(self) -> Iterator[tuple[str, str]]:
        for name in (*self._listed(), *HIDDEN):
            yield name, self.get(name)

    def _listed(self) -> list[str]:
        names = (setting.name for setting in KNOWN.values() if setting.name not in HIDDEN)
        return sorted((*names, *self._custom.values()), key=str.lower)

    def _source(self, known: str, value: str, initial: str) -> str:
        """Where a value comes from, in PostgreSQL's words: SET, the connection's beginning, the node, or nothing."""
        if value != initial or (known in self._values and known not in OF_THE_TRANSACTION):
            return "session"
        if known in self.initial and self.initial[known] != self._given.get(known):
            return "client"
        return "configuration file" if known in self._given else "default"

    def reported(self) -> dict[str, str]:
        return {name: self.get(name) for name in REPORTED}

    def _value(self, known: str) -> str:
        found = self._values.get(known)
        return self._initial(known) if found is None else found

    def _initial(self, known: str) -> str:
        if known == READ_ONLY:  # what was the default when the transaction began
            values = self._values if self._before is None else self._before
            return values.get(READ_ONLY_AT_FIRST) or self._initial(READ_ONLY_AT_FIRST)
        found = self.initial.get(known)
        return KNOWN.get(known.lower(), OWN).default if found is None else found

    # -- what may be set ----------------------------------------------------------------------------------------

    def _settable(self, name: str, *, is_reset: bool = False) -> str:
        setting = KNOWN.get(name.lower())
        if setting is None:
            return self._custom_name(name)
        if setting.context == "internal" and not (is_reset and setting.name == "session_authorization"):
            raise SqlError(NOT_NOW, f'parameter "{setting.name}" cannot be changed')
        if setting.context == "superuser":
            raise SqlError("42501", f'permission denied to set parameter "{setting.name}"')
        return setting.name

    def _custom_name(self, name: str) -> str:
        known = self._custom.get(name.lower())
        if known is not None:
            return known
        if "." not in name:
            raise unrecognized(name)
        if len(name) > NAME_CHARS_MAX:
            raise SqlError(INVALID_NAME, f"the name of a setting has at most {NAME_CHARS_MAX} characters")
        if name.lower().startswith(f"{OWN_PREFIX}."):
            detail = f'"{OWN_PREFIX}" is a reserved prefix.'
            raise SqlError(INVALID_NAME, f'invalid configuration parameter name "{name}"', detail=detail)
        if not _CUSTOM.fullmatch(name):
            detail = "Custom parameter names must be two or more simple identifiers separated by dots."
            raise SqlError(INVALID_NAME, f'invalid configuration parameter name "{name}"', detail=detail)
        if len(self._custom) >= CUSTOM_MAX:
            raise SqlError(PROGRAM_LIMIT, f"a session has at most {CUSTOM_MAX} settings of its own")
        return name

    def _enter(self, known: str) -> None:
        if known.lower() not in KNOWN:
            self._custom.setdefault(known.lower(), known)

    def _accepted(self, known: str, text: str) -> str:
        others = sum(len(v) for name, v in {**self.initial, **self._values}.items() if name != known)
        if others + len(text) > CHARS_MAX:
            raise SqlError(PROGRAM_LIMIT, f"the settings of a session have at most {CHARS_MAX} characters")
        setting = KNOWN.get(known.lower(), OWN)
        check, value = CHECKS.get(setting.name), kinds.value_of(setting, text)
        return value if check is None else check(setting, value, self._value(known))

    # -- transactions -------------------------------------------------------------------------------------------

    def _put(self, known: str, value: str | None, *, is_local: bool) -> None:
        """None: as it was at first, as if nothing had set it."""
        if known == READ_ONLY and value == "off" and self.is_read_only and self.has_asked():
            raise SqlError(ACTIVE_TRANSACTION, "transaction read-write mode must be set before any query")
        is_local = is_local or known in OF_THE_TRANSACTION
        values = _with(self._values, known, value)
        lasting = self._lasting if is_local else _with(self._lasting, known, value)
        if self._marks:
            earlier = sum(mark.chars for mark in self._marks[:-1])
            if earlier + _held_beside(self._marks[-1], values, lasting) > MARKS_CHARS_MAX:
                message = f"the settings that savepoints keep have at most {MARKS_CHARS_MAX} characters"
                raise SqlError(PROGRAM_LIMIT, message)
        self._enter(known)
        self._replace(values, lasting)

    def _replace(self, values: Values, lasting: Values) -> None:
        if self._before is None:
            self._before = self._lasting
        self.is_undecided = True
        self._now(values, lasting)

    def _now(self, values: Values, lasting: Values) -> None:
        self._values, self._lasting = values, lasting
        self.changes += 1
        self._derive()

    def mark(self, number: int) -> None:
        if self._marks:
            self._marks[-1].chars = _held_beside(self._marks[-1], self._values, self._lasting)
        self._marks.append(Mark(number, self._values, self._lasting))

    def release(self, number: int) -> None:
        while self._marks and self._marks[-1].number >= number:
            self._marks.pop()

    def return_to(self, number: int) -> None:
        while self._marks and self._marks[-1].number > number:
            self._marks.pop()
        if self._marks and self._marks[-1].number == number:
            self._now(self._marks[-1].values, self._marks[-1].lasting)

    def commit_so_far(self) -> None:
        """Keep what was set, committed; the block goes on, with what is LOCAL to it and with its modes."""
        self._marks.clear()
        if self._before is not None:
            values = {**self._values, READ_ONLY: self._value(READ_ONLY)}
            self._before = self._lasting
            self._now(values, self._lasting)

    def end(self, *, committed: bool) -> None:
        if self._marks:
            self._marks.clear()
        before, self._before, self.is_undecided = self._before, None, False
        if before is not None:
            lasting = self._lasting if committed else before
            self._now(lasting, lasting)

    def _derive(self) -> None:
        order = self._value("DateStyle").rpartition(" ")[2]
        self.style = time_style(
            self._value("TimeZone"), order, self._value("bytea_output"), self._value("IntervalStyle")
        )
        self.statement_s = int(self._value("statement_timeout")) / 1000 or None
        self.lock_ms = int(self._value("lock_timeout"))
        self.is_read_only = self._value(READ_ONLY) == "on"
        self.is_traced = self._value(TRACE) == "on"
        least = self._value(LEAST_REPORTED).upper()
        self.silenced = SEVERITIES[: SEVERITIES.index(least)] if least in SEVERITIES else ()
        self.commits_before_ddl = self._value(AUTOCOMMIT) == "on"
        self.idle_in_transaction_s = int(self._value("idle_in_transaction_session_timeout")) / 1000 or None


def _with(values: Values, known: str, value: str | None) -> Values:
    others = {name: other for name, other in values.items() if name != known}
    return others if value is None else {**others, known: value}


def _held_beside(mark: Mark, values: Values, lasting: Values) -> int:
    """Characters that a savepoint keeps alive, when what counts after it are these."""
    held = 0
    if mark.values is not values:
        held += ENTRY_CHARS * len(mark.values)
        held += sum(len(value) for name, value in mark.values.items() if values.get(name) is not value)
    if mark.lasting is not lasting:
        held += ENTRY_CHARS * len(mark.lasting)
        apart = (value for name, value in mark.lasting.items() if mark.values.get(name) is not value)
        held += sum(map(len, apart))
    return held
