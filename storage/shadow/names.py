"""Names as statements write them. Pure."""

import re

from expressions.grammar import is_reserved

_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


def quoted(name: str) -> str:
    """A name as it has to be written: in quotes only where it needs them."""
    return name if _PLAIN.fullmatch(name) and not is_reserved(name) else in_quotes(name)


def in_quotes(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def literal(text: str | None) -> str:
    """A constant."""
    if text is None:
        return "NULL"
    escaped = text.replace("'", "''").replace("\\", "\\\\")
    return f" E'{escaped}'" if "\\" in text else f"'{escaped}'"
