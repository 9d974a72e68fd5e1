r"""Values of the kinds that only the catalog has, as PostgreSQL reads and writes them: oid, "char" and the vectors.

oid        32 bits without a sign; a text may say -1 for the greatest
"char"     a byte: empty for 0, \\ooo beyond ASCII; here it is that text
int2vector, oidvector    numbers with spaces between
"""

import re

from expressions.errors import INVALID_TEXT, NUMBER_OUT_OF_RANGE, SqlError

OID_COUNT = 2**32
SMALL = 2**15
_WHOLE = re.compile(r"\s*([+-]?\d+)\s*", re.ASCII)
_OCTAL = re.compile(r"\\([0-3][0-7]{2})")
DIGITS_MAX = 20


def oid_from(text: str) -> int:
    """The oid that a text says. Raises 22P02, or 22003."""
    value = _whole(text, "oid")
    if not -(OID_COUNT // 2) <= value < OID_COUNT:
        raise _out_of_range(text, "oid")
    return value % OID_COUNT


def small_from(text: str) -> int:
    """The smallint that a text says, as int2vector has them. Raises 22P02, or 22003."""
    value = _whole(text, "smallint")
    if not -SMALL <= value < SMALL:
        raise _out_of_range(text, "smallint")
    return value


def _whole(text: str, name: str) -> int:
    found = _WHOLE.fullmatch(text)
    if found is None:
        raise SqlError(INVALID_TEXT, f'invalid input syntax for type {name}: "{text}"')
    if len(found[1]) > DIGITS_MAX:
        raise _out_of_range(text, name)
    return int(found[1])


def _out_of_range(text: str, name: str) -> SqlError:
    return SqlError(NUMBER_OUT_OF_RANGE, f'value "{text}" is out of range for type {name}')


def char_from(text: str) -> str:
    """The "char" that a text says: its first byte, or the one that an octal number stands for."""
    octal = _OCTAL.fullmatch(text)
    if octal is not None:
        return char_of(int(octal[1], 8))
    return char_of(text[:1].encode()[0]) if text else ""


def char_of(byte: int) -> str:
    return "" if not byte else chr(byte) if byte < 128 else f"\\{byte:03o}"


def byte_of(char: str) -> int:
    """The byte of a "char". Of any other character its first byte counts."""
    octal = _OCTAL.fullmatch(char)
    if octal is not None:
        return int(octal[1], 8)
    return char.encode()[0] if char else 0
