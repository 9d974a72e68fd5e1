"""Settings of which a node accepts only some values; another is refused by name rather than ignored."""

import re
from collections.abc import Callable

from expressions.dates.zones import ORDERS, UnknownZone, zone_named
from expressions.errors import FEATURE_NOT_SUPPORTED, INVALID_PARAMETER_VALUE, SqlError
from nodes.settings.kinds import invalid
from nodes.settings.known import Setting

Check = Callable[[Setting, str, str], str]
"""The base form of a value, from the one that is set now. Raises 22023 for no value, 0A000 for one that cannot be."""

UTF8 = ("utf8", "unicode")
BYTES_AS_THEY_ARE = "sqlascii"
ENCODINGS = re.compile(
    r"abc|alt|big5|euc(cn|jis2004|jp|kr|tw)|gb18030|gbk|iso8859\d{1,2}|johab|koi8[ru]?|latin([1-9]|10)|mskanji"
    r"|muleinternal|sjis|shiftjis(2004)?|tcvn(5712)?|uhc|vscii|win|win(dows)?\d{3,4}"
)
"""PostgreSQL's names of other encodings."""


def _encoding(setting: Setting, text: str, _: str) -> str:
    """Letters and figures count, as in PostgreSQL: 'utf-8' with its quotes is UTF8, too."""
    name = re.sub(r"[^a-z0-9]", "", text.lower())
    if name in UTF8:
        return "UTF8"
    if name == BYTES_AS_THEY_ARE:
        return "SQL_ASCII"
    if ENCODINGS.fullmatch(name):
        raise _cannot_be(setting, text, "a node speaks UTF-8")
    raise SqlError(INVALID_PARAMETER_VALUE, invalid(setting.name, text))


def _time_zone(setting: Setting, text: str, _: str) -> str:
    try:
        return zone_named(text).name
    except UnknownZone:
        raise SqlError(INVALID_PARAMETER_VALUE, invalid(setting.name, text)) from None


_STYLES = {"iso": "ISO", "sql": "SQL", "german": "German"}
_ORDER_WORDS = {
    "ymd": "YMD", "dmy": "DMY", "european": "DMY", "euro": "DMY", "mdy": "MDY", "us": "MDY", "noneuropean": "MDY",
    "noneuro": "MDY",
}  # fmt: skip


def _date_style(setting: Setting, text: str, current: str) -> str:
    """The order of day and month may be any, the style is ISO."""
    order = current.rpartition(" ")[2]
    for word in (part.strip().strip('"').lower() for part in text.split(",")):
        if word == "default":
            order = "MDY"
        elif word in _ORDER_WORDS:
            order = _ORDER_WORDS[word]
        elif word in _STYLES or word.startswith("postgres"):
            if word != "iso":
                raise _cannot_be(setting, text, "a node writes dates in the style ISO")
        else:
            raise SqlError(INVALID_PARAMETER_VALUE, invalid(setting.name, text), detail="Unrecognized key word.")
    assert order in ORDERS
    return f"ISO, {order}"


def _search_path(setting: Setting, text: str, _: str) -> str:
    """Tables are in public, and found there, also when the path is empty: dumps empty it, and name schemas."""
    names = [name.strip().strip('"') for name in text.split(",")]
    if "public" not in names and not set(names) <= {"", "pg_catalog"}:
        raise _cannot_be(setting, text, "all tables are in public")
    return text


def _role(setting: Setting, text: str, _: str) -> str:
    if text.lower() != "none":
        raise SqlError("42501", f'permission denied to set role "{text}"')
    return "none"


def _only(*accepted: str) -> Check:
    def check(setting: Setting, text: str, current: str) -> str:
        if text not in accepted:
            raise _cannot_be(setting, text, f'it stays "{current}"')
        return text

    return check


def _digits(setting: Setting, text: str, _: str) -> str:
    if int(text) < 1:
        raise _cannot_be(setting, text, "a node writes numbers with all digits that they need")
    return text


def _cannot_be(setting: Setting, text: str, why: str) -> SqlError:
    return SqlError(FEATURE_NOT_SUPPORTED, f'{setting.name} cannot be "{text}": {why}')


CHECKS: dict[str, Check] = {
    "client_encoding": _encoding,
    "TimeZone": _time_zone,
    "DateStyle": _date_style,
    "standard_conforming_strings": _only("on"),
    "transform_null_equals": _only("off"),
    "array_nulls": _only("on"),
    "extra_float_digits": _digits,
    "search_path": _search_path,
    "default_transaction_isolation": lambda *_: "serializable",
    "transaction_isolation": lambda *_: "serializable",
    "role": _role,
}
