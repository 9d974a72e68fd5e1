"""Names as a person writes them, quoted only where needed."""

import re

from catalog.text.sql_names import quoted
from expressions.grammar import is_reserved

_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


def quoted_if_needed(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and not is_reserved(name) else quoted(name)
