"""All settings: `SETTINGS` has each environment variable with default, meaning and parser. The process's environment
wins over the file .env, and that over $SCHEMALAB_HOME/up.env (what a running `up` has chosen). Contradictions are
system checks (`schemalab/checks.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from email.utils import getaddresses
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TRUE_WORDS = ("1", "true", "yes", "on")
FALSE_WORDS = ("0", "false", "no", "off")
CLOCK_OFFSET_S_MAX = 86400
TOKEN_CHARS_MIN, TOKEN_CHARS_MAX = 16, 500


class BadSetting(Exception):
    def __init__(self, setting: Setting, value: str, allowed: str) -> None:
        shown = "***" if setting.is_secret else repr(value)
        super().__init__(f"{setting.name}={shown} is not allowed: it must be {allowed}")
        self.name = setting.name


class NotAllowed(ValueError):
    """Raised by a parser; says what is allowed."""


Parser = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    default: str
    parse: Parser
    meaning: str
    is_secret: bool = False


def text(value: str) -> str:
    return value


def words(value: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in value.split(",") if word.strip())


def hosts(value: str) -> tuple[str, ...]:
    """Names, or .NAME for all below it; not `*`, which would allow forged links."""
    named = words(value)
    if "*" in named:
        raise NotAllowed("host names by commas, .NAME for all below one; not *, which is every name")
    return named


def switch(value: str) -> bool:
    if value.lower() in TRUE_WORDS:
        return True
    if value.lower() in FALSE_WORDS:
        return False
    raise NotAllowed(f"one of {', '.join(TRUE_WORDS + FALSE_WORDS)}")


def sender(value: str) -> str:
    found = getaddresses([value])
    name, _, host = found[0][1].rpartition("@") if len(found) == 1 and value.isprintable() else ("", "", "")
    if not name or not host or " " in name + host:
        raise NotAllowed('NAME@HOST, or WORDS <NAME@HOST>; words with signs in "quotes"')
    return value.strip()


def one_of(*choices: str) -> Parser:
    def parse(value: str) -> str:
        if value not in choices:
            raise NotAllowed(f"one of {', '.join(choices)}")
        return value

    return parse


def whole(low: int, high: int) -> Parser:
    def parse(value: str) -> int:
        if not value.isascii() or not value.isdigit() or not low <= int(value) <= high:
            raise NotAllowed(f"a whole number from {low} to {high}")
        return int(value)

    return parse


def number(low: float, high: float) -> Parser:
    def parse(value: str) -> float:
        try:
            parsed = float(value)
        except ValueError:
            parsed = float("nan")
        if not low <= parsed <= high:
            raise NotAllowed(f"a number from {low:g} to {high:g}")
        return parsed

    return parse


def url(*schemes: str) -> Parser:
    """An address with one of these schemes; empty: the embedded service."""
    allowed = " or ".join(f"{scheme}://.." for scheme in schemes)

    def parse(value: str) -> str:
        if value and not value.startswith(tuple(f"{scheme}://" for scheme in schemes)):
            raise NotAllowed(f"{allowed}, or empty for the embedded one")
        return value

    return parse


def smtp_server(value: str) -> str:
    try:
        parts = urlsplit(value)
        has_host = parts.scheme in ("smtp", "smtps") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port or a host that is none
        has_host = False
    if value and not has_host:
        raise NotAllowed("smtp://[USER:PASSWORD@]HOST[:PORT] or smtps://.., or empty for none")
    return value


def clock_offsets(value: str) -> dict[str, float]:
    pairs = [word.partition("=") for word in words(value)]
    try:
        found = {name.strip(): float(seconds) for name, _, seconds in pairs}
    except ValueError:
        found = {"": 0.0}
    if not all(name and abs(seconds) <= CLOCK_OFFSET_S_MAX for name, seconds in found.items()):
        raise NotAllowed(f"NODE=SECONDS by commas, from -{CLOCK_OFFSET_S_MAX} to {CLOCK_OFFSET_S_MAX}")
    return found


def token(value: str) -> str:
    if value and not (TOKEN_CHARS_MIN <= len(value) <= TOKEN_CHARS_MAX and value.isascii() and value.isprintable()):
        raise NotAllowed(f"{TOKEN_CHARS_MIN} to {TOKEN_CHARS_MAX} characters of ASCII, or empty")
    return value


def folder(value: str) -> Path | None:
    if not value:
        return None
    return _found(Path(value), Path.is_dir, "a folder that exists")


def file(value: str) -> Path | None:
    if not value:
        return None
    return _found(Path(value), Path.is_file, "a file that exists")


def _found(path: Path, is_one: Callable[[Path], bool], what: str) -> Path:
    try:
        if is_one(path):
            return path.resolve()
    except OSError:  # one of the folders above it may not be entered, or it has no name that could be one
        raise NotAllowed(f"{what} and can be reached, or empty for none") from None
    raise NotAllowed(f"{what}, or empty for none")


def origin(value: str) -> str:
    if value and not value.startswith(("http://", "https://")):
        raise NotAllowed("http://HOST[:PORT] or https://HOST[:PORT], or empty")
    return value.rstrip("/")


MEMORY_MB_MIN, MEMORY_MB_MAX = 64, 1_000_000
MEMORY = (
    ("NODE", "1024", "a node: it is ended when it has more"),
    ("WEB", "1024", "the page's process"),
    ("WORKER", "1536", "each worker, of changes, of the clock's work and of proofs, and of the clock"),
    ("SPARK", "4096", "the Spark worker with its JVM and its Python processes"),
    ("POSTGRES", "4096", "the embedded PostgreSQL, all its sessions together, shared buffers apart"),
    ("REDIS", "512", "the embedded Redis"),
)
SETTINGS: tuple[Setting, ...] = (
    Setting("DATABASE_URL", "", url("postgresql", "postgres"), "PostgreSQL 18 or newer; empty: the embedded one"),
    Setting(
        "SHADOW_DATABASE_URL",
        "",
        url("postgresql", "postgres"),
        "database for questions to the catalog; empty: that of DATABASE_URL with _shadow behind its name",
    ),
    Setting("REDIS_URL", "", url("redis", "rediss", "unix"), "Redis, as redis-py spells it; empty: the embedded one"),
    Setting("SPARK_MASTER", "local[2]", text, "where reorganisation runs: local[N] or spark://HOST:PORT"),
    Setting("SPARK_SECRET", "", text, "the secret of that cluster of Spark; empty: it asks for none", is_secret=True),
    Setting("SPARK_PYTHON", "", text, "the Python of its machines; empty: the path of this one's"),
    Setting(
        "SPARK_EXECUTOR_MB",
        "600",
        whole(MEMORY_MB_MIN, MEMORY_MB_MAX),
        "memory of each JVM there, without its Python processes",
    ),
    Setting("HOST", "127.0.0.1", text, "address on which the page listens"),
    Setting("PORT", "0", whole(0, 65535), "port of the page; 0: 8000 or the next free one"),
    Setting("PUBLIC_URL", "", origin, "address under which users reach the page, when that is not HOST:PORT"),
    Setting("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", hosts, "host names the page answers to, by commas"),
    Setting("NODES", "3", whole(1, 100), "how many nodes `manage.py up` starts"),
    Setting(
        "NODE_HOST", "127.0.0.1", text, "address on which nodes listen; beyond loopback everybody needs a password"
    ),
    Setting("NODE_PORT", "7101", whole(1, 65435), "port of the first node; a taken one is skipped"),
    Setting(
        "NODE_PASSWORD",
        "",
        text,
        "the owner's SQL password; when set, nodes ask for passwords on loopback too",
        is_secret=True,
    ),
    Setting("NODE_TLS_CERT", "", file, "the nodes' certificate (PEM), with its chain; empty: nodes speak no TLS"),
    Setting("NODE_TLS_KEY", "", file, "the key of that certificate (PEM), without a passphrase"),
    Setting(
        "NODE_SESSIONS_PER_USER", "100", whole(1, 200), "sessions that one user may have on one node, of 200 in all"
    ),
    Setting(
        "NODE_STATEMENT_S",
        "300",
        number(0, 86400),
        "default of `statement_timeout` in seconds; 0: none. Schema changes and TRUNCATE heed only a session's own",
    ),
    Setting(
        "NODE_IDLE_IN_TRANSACTION_S",
        "900",
        number(0, 86400),
        "default of `idle_in_transaction_session_timeout` in seconds; 0: none",
    ),
    Setting(
        "CHANGES_PER_MINUTE",
        "100",
        whole(1, 1_000_000),
        "changes that one user may submit within a minute; SQL connections wait, others are refused",
    ),
    *(
        Setting(f"{kind}_MEMORY_MB", default, whole(MEMORY_MB_MIN, MEMORY_MB_MAX), f"most memory of {whose}")
        for kind, default, whose in MEMORY
    ),
    Setting("NODE_CLOCK_OFFSET_S", "", clock_offsets, "for tests: a wrong wall clock of some nodes, as n2=3600,n3=-60"),
    Setting("LEASE_S", "300", number(1, 86400), "length of a lease in seconds; the demo uses 30"),
    Setting(
        "STORAGE_COUNT",
        "2",
        whole(1, 16),
        "number of storages that a new cluster begins with; `manage.py storages` adds more",
    ),
    Setting("BUCKET_COUNT", "3000", whole(1, 65536), "buckets that rows are spread over; fixed once there is data"),
    Setting(
        "SUBMITTERS_STEER",
        "all",
        one_of("all", "own"),
        "whose changes a submitter may pause, resume, throttle and cancel; operators: all",
    ),
    Setting("CHANGES_NEED_APPROVAL", "no", switch, "a submitted change waits until somebody else approves it"),
    Setting(
        "EMAIL_URL",
        "",
        smtp_server,
        "SMTP server of notifications, smtp://[USER:PASSWORD@]HOST[:PORT]; empty: none",
        is_secret=True,
    ),
    Setting("EMAIL_FROM", "schemalab@localhost", sender, "sender of notifications by email"),
    Setting(
        "METRICS_TOKEN",
        "",
        token,
        "bearer token that reads /metrics; empty: only this machine may read them, without one",
        is_secret=True,
    ),
    Setting("EXERCISES_DIR", "", folder, "a folder with chapters of your own for the lab; empty: none"),
    Setting(
        "SECRET_KEY",
        "",
        text,
        "signs sessions and links; empty: made on first run and kept in the home",
        is_secret=True,
    ),
    Setting("DEBUG", "no", switch, "Django's debug pages; never where others can reach them"),
    Setting("LOG_LEVEL", "INFO", one_of("DEBUG", "INFO", "WARNING", "ERROR"), "the least that is logged"),
)


def parse_settings(values: Mapping[str, str], settings: Iterable[Setting] = SETTINGS) -> dict[str, Any]:
    """The typed value of each setting; an unset or blank one has its default."""
    parsed = {}
    for setting in settings:
        value = values.get(setting.name, "").strip() or setting.default
        try:
            parsed[setting.name] = setting.parse(value)
        except NotAllowed as allowed:
            raise BadSetting(setting, value, str(allowed)) from None
    return parsed


def home_of(values: Mapping[str, str], *, base: Path) -> Path:
    return (base / (values.get("SCHEMALAB_HOME", "").strip() or ".schemalab")).resolve()


def merge(*, process: Mapping[str, str], env_file: Mapping[str, str], running: Mapping[str, str]) -> dict[str, str]:
    """The values in force; an empty one does not hide a lower one."""
    merged = dict(running)
    for layer in (env_file, process):
        merged.update({name: value for name, value in layer.items() if value.strip()})
    return merged
