"""Decides which lines of a process the terminal shows; its log has all. A statement that PostgreSQL refuses is an
answer, which its client reports. A line that begins with a blank belongs to the one before it, as does a count of
repeats."""

import re
from collections.abc import Callable

from schemalab.supervisor.repeats import COUNT

OF_POSTGRES = re.compile(r"\d{4}-\d\d-\d\d [\d:.]+ UTC \[\d+\] ([0-9A-Z]{5}) ([A-Z]+\d?):  (.*)")
FOLLOWS = frozenset({"DETAIL", "HINT", "CONTEXT", "STATEMENT", "QUERY", "LOCATION", "BACKTRACE"})
OWN_TROUBLE = ("53", "58", "F0", "XX")
"""No room of some kind, the system, the configuration, an error of the server itself."""
ENDINGS = ("57P01", "57P02", "57P03", "57P05")
"""A session was ended, by us or as the server ends; it starts or recovers, and `up` says so."""
TROUBLE_IN_LOG = re.compile(
    r"server process .* (was terminated|exited)|terminating any other active|automatic recovery in progress|"
    r"reinitializing"
)
OF_REDIS = re.compile(
    r"oO0OoO0OoO0Oo|Redis version=|Configuration loaded|Server initialized|Memory overcommit|Transparent Huge Pages|"
    r"signal-handler|User requested shutdown|ready to exit|Removing the unix socket"
)
OURS = re.compile(r"\d{4}-\d\d-\d\d [\d:,]+ (DEBUG|INFO|WARNING) (\S+): ")
ANSWERS = ("django.request", "django.security")
OF_CELERY = re.compile(r"worker: (Warm shutdown|Hitting Ctrl\+C)")
OF_JVM = re.compile(
    r"\d\d/\d\d/\d\d [\d:]+ (TRACE|DEBUG|INFO|WARN) |WARNING: |Using Spark's default log4j|Setting default log level|"
    r"To adjust logging level"
)
OF_NODE = re.compile(r"node \S+ incarnation \d+ on ")
OF_MIGRATE = re.compile(
    r"Operations to perform:|Running migrations:| *Applying \S+\.\.\. OK$| +(Apply all|No) migrations"
)


class LineFilter:
    def __init__(self, kind: str) -> None:
        self._is_for_terminal = RULES.get(kind, is_ours_shown)
        self._is_shown = True

    def hear(self, line: str) -> bool:
        message = OF_POSTGRES.match(line)
        follows = line.startswith((" ", "\t", COUNT)) if message is None else message[2] in FOLLOWS
        if not line.strip() or (follows and not OF_MIGRATE.match(line)):
            return self._is_shown and bool(line.strip())
        self._is_shown = self._is_for_terminal(line)
        return self._is_shown


def is_postgres_shown(line: str) -> bool:
    message = OF_POSTGRES.match(line)
    if message is None:
        return True
    code, severity, text = message.groups()
    match severity:
        case "LOG":
            return TROUBLE_IN_LOG.search(text) is not None
        case "FATAL":
            return code not in ENDINGS
        case "PANIC":
            return True
    return code.startswith(OWN_TROUBLE)


def is_ours_shown(line: str) -> bool:
    message = OURS.match(line)
    if message is None:
        return OF_CELERY.match(line) is None
    return message[1] == "WARNING" and not message[2].startswith(ANSWERS)


RULES: dict[str, Callable[[str], bool]] = {
    "postgres": is_postgres_shown,
    "redis": lambda line: OF_REDIS.search(line) is None,
    "spark": lambda line: is_ours_shown(line) and OF_JVM.match(line) is None,
    "node": lambda line: is_ours_shown(line) and OF_NODE.match(line) is None,
    "migrate": lambda line: OF_MIGRATE.match(line) is None,
    "demo": lambda _line: True,
    "traffic": lambda _line: True,
}
"""By the kind of a process; the others are programs of ours."""
