"""The settings of a session: what SHOW answers, what SET may change, what is reported to libpq.

A node has one way of writing dates, one time zone and one isolation level; asking for those is
accepted, asking for another is refused by name rather than ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from expressions.errors import FEATURE_NOT_SUPPORTED, INVALID_PARAMETER_VALUE, UNDEFINED_OBJECT, SqlError

SERVER_VERSION = "18.0 (Schema Lab)"
REPORTED = (
    "server_version", "server_encoding", "client_encoding", "application_name", "default_transaction_read_only",
    "in_hot_standby", "is_superuser", "session_authorization", "DateStyle", "IntervalStyle", "TimeZone",
    "integer_datetimes", "standard_conforming_strings", "scram_iterations", "search_path",
)  # fmt: skip

DEFAULTS = {
    "server_version": SERVER_VERSION, "server_version_num": "180000", "server_encoding": "UTF8",
    "client_encoding": "UTF8", "application_name": "", "default_transaction_read_only": "off",
    "in_hot_standby": "off", "is_superuser": "off", "session_authorization": "", "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres", "TimeZone": "UTC", "integer_datetimes": "on", "standard_conforming_strings": "on",
    "scram_iterations": "4096", "search_path": "public", "transaction_isolation": "serializable",
    "default_transaction_isolation": "serializable", "transaction_read_only": "off", "statement_timeout": "0",
    "lock_timeout": "0", "idle_in_transaction_session_timeout": "0", "extra_float_digits": "1",
    "client_min_messages": "notice", "bytea_output": "hex", "max_identifier_length": "63",
    "schemalab.node": "", "lc_collate": "C", "max_index_keys": "32",
}  # fmt: skip

FIXED = frozenset(
    {"server_version", "server_version_num", "server_encoding", "in_hot_standby", "is_superuser", "integer_datetimes",
     "session_authorization", "scram_iterations", "max_identifier_length", "schemalab.node", "lc_collate",
     "max_index_keys", "transaction_isolation"}
)  # fmt: skip

ACCEPTED: dict[str, Callable[[str], bool]] = {
    "client_encoding": lambda v: v.upper().replace("-", "") in ("UTF8", "UNICODE"),
    "DateStyle": lambda v: v.upper().split(",")[0].strip() == "ISO",
    "IntervalStyle": lambda v: v == "postgres",
    "TimeZone": lambda v: v.upper() in ("UTC", "GMT", "ETC/UTC", "UCT", "ZULU"),
    "standard_conforming_strings": lambda v: v in ("on", "true", "1"),
    "default_transaction_isolation": lambda v: True,
    "search_path": lambda v: "public" in v,
    "lock_timeout": lambda v: milliseconds("lock_timeout", v) == 0,
}
TIME_LIMITS = frozenset({"statement_timeout", "idle_in_transaction_session_timeout"})
MILLISECONDS_MAX, FIGURES_MAX = 2**31 - 1, 12
UNITS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "": 1}
BOOLEANS = {"on": "on", "true": "on", "1": "on", "yes": "on", "off": "off", "false": "off", "0": "off", "no": "off"}


@dataclass(eq=False)
class Variables:
    """The values of one session; `initial` are those RESET goes back to."""

    initial: dict[str, str] = field(default_factory=lambda: dict(DEFAULTS))
    values: dict[str, str] = field(default_factory=dict)
    changes: int = 0

    def __post_init__(self) -> None:
        self.values = dict(self.initial)

    def start_with(self, name: str, value: str) -> None:
        """A value given when the connection was made."""
        self.set(name, value)
        self.initial[canonical(name)] = self.values[canonical(name)]

    def get(self, name: str) -> str:
        return self.values[canonical(name)]

    def set(self, name: str, value: str) -> None:
        """Raises 42704 for an unknown setting, 22023 or 0A000 for a value that cannot be."""
        known = canonical(name)
        if known in FIXED:
            raise SqlError("55P02", f'parameter "{known}" cannot be changed')
        accepts = ACCEPTED.get(known)
        if accepts is not None and not accepts(value):
            raise SqlError(FEATURE_NOT_SUPPORTED, f'{known} cannot be "{value}": it stays "{self.values[known]}"')
        if known in TIME_LIMITS:
            value = str(milliseconds(known, value))
        if known == "default_transaction_read_only":
            value = boolean(known, value)
        if accepts is None or known == "default_transaction_isolation":
            self.changes += 1
            self.values[known] = "serializable" if known == "default_transaction_isolation" else value

    def reset(self, name: str) -> None:
        self.values[canonical(name)] = self.initial[canonical(name)]
        self.changes += 1

    def reset_all(self) -> None:
        self.values = dict(self.initial)
        self.changes += 1

    def seconds(self, name: str) -> float | None:
        """A time limit; None when there is none."""
        return int(self.values[name]) / 1000 or None

    def is_changed(self, name: str) -> bool:
        """True if the session has set it otherwise than it was at first."""
        return self.values[name] != self.initial[name]

    def reported(self) -> dict[str, str]:
        return {name: self.values[name] for name in REPORTED}


_CANONICAL = {name.lower(): name for name in DEFAULTS}


def canonical(name: str) -> str:
    """A setting's name as it is kept. Raises 42704."""
    try:
        return _CANONICAL[name.lower()]
    except KeyError:
        raise SqlError(UNDEFINED_OBJECT, f'unrecognized configuration parameter "{name}"') from None


def milliseconds(name: str, value: str) -> int:
    """A time setting such as 500, 5s or 1min."""
    text = value.strip()
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(digits) :].strip()
    figures = digits.strip()
    if not figures.isascii() or not figures.isdigit() or unit not in UNITS:
        raise SqlError(
            INVALID_PARAMETER_VALUE, f'invalid value for parameter "{name}": "{value}"', hint="use 500, 5s or 1min"
        )
    if len(figures) > FIGURES_MAX or int(figures) * UNITS[unit] > MILLISECONDS_MAX:
        message = f'{value} is outside the valid range for parameter "{name}" (0 .. {MILLISECONDS_MAX} ms)'
        raise SqlError(INVALID_PARAMETER_VALUE, message)
    return int(figures) * UNITS[unit]


def boolean(name: str, value: str) -> str:
    try:
        return BOOLEANS[value.lower()]
    except KeyError:
        raise SqlError(INVALID_PARAMETER_VALUE, f'parameter "{name}" requires a Boolean value') from None
