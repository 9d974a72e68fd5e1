"""Text of users on a terminal, with control characters shown, not obeyed."""

import re

CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0, C1
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction
    r"\u2028\u2029\ud800-\udfff]"  # separators, lone surrogates
)
"""C0 and C1 but for line feed and tab, marks and overrides of direction, separators, lone surrogates."""


def plain(text: str) -> str:
    """Control characters as escapes; line feeds and tabs stay."""
    return CONTROL.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
