"""Names and constants as statements write them. Pure."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str | None) -> str:
    """A constant, right under any `standard_conforming_strings`; NULL for None."""
    if text is None:
        return "NULL"
    escaped = text.replace("'", "''").replace(chr(92), chr(92) * 2)
    return f"E'{escaped}'" if chr(92) in text else f"'{escaped}'"
