"""Values of settings by their kind, in a base form: `on`, a number in the setting's unit, one of the listed words. SHOW
writes numbers with the largest unit that divides them, as PostgreSQL does."""

import math
import re
from collections.abc import Mapping

from expressions.errors import INVALID_PARAMETER_VALUE, SqlError
from nodes.settings.known import Setting

MEMORY = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
TIME = {"us": 1, "ms": 1000, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
_NUMBER = re.compile(
    r"\s*([+-]?(?:0[xX][0-9a-fA-F]{1,16}|\d{1,20}(?:\.\d{0,20})?(?:[eE][+-]?\d{1,3})?|\.\d{1,20}))\s*([A-Za-z]*)\s*",
    re.ASCII,
)
_WORDS = {"true": "on", "yes": "on", "on": "on", "1": "on", "false": "off", "no": "off", "off": "off", "0": "off"}


def value_of(setting: Setting, text: str) -> str:
    """The base form of a value. Raises 22023 with what is allowed."""
    match setting.kind:
        case "bool":
            return boolean(setting.name, text)
        case "enum":
            return _one_of(setting, text)
        case "integer" | "real":
            return _number(setting, text)
    return text


def shown(setting: Setting, value: str) -> str:
    if setting.kind != "integer" or not setting.unit or not value.isdigit() or int(value) == 0:
        return value
    count, base = _unit(setting.unit)
    units = _units(setting.unit)
    whole = int(value) * count * units[base]
    name = max((unit for unit in units if whole % units[unit] == 0), key=lambda unit: units[unit])
    return f"{whole // units[name]}{name}"


def boolean(name: str, text: str) -> str:
    """`on` or `off`, also by the first letters of a word. Raises 22023."""
    given = text.strip().lower()
    found = {_WORDS[word] for word in _WORDS if given and word.startswith(given)}
    if len(found) != 1 or given == "o":
        raise SqlError(INVALID_PARAMETER_VALUE, f'parameter "{name}" requires a Boolean value')
    return found.pop()


def _one_of(setting: Setting, text: str) -> str:
    given = text.lower()
    if {"on", "off"} <= set(setting.values):
        given = _WORDS.get(given, given)
    if given in setting.values:
        return given
    raise SqlError(
        INVALID_PARAMETER_VALUE, invalid(setting.name, text), hint=f"Available values: {', '.join(setting.values)}."
    )


def invalid(name: str, text: str) -> str:
    return f'invalid value for parameter "{name}": "{text}"'


def _number(setting: Setting, text: str) -> str:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise SqlError(INVALID_PARAMETER_VALUE, invalid(setting.name, text))
    digits, unit = match.groups()
    number = float(int(digits, 16)) if "x" in digits.lower() else float(digits)
    if unit:
        number = _in_unit(setting, text, number, unit)
    if setting.kind == "integer":
        number = float(math.floor(number + 0.5)) if abs(number) < 2**53 else number  # halves: away from zero
    if not float(setting.low or -math.inf) <= number <= float(setting.high or math.inf):
        unit = setting.unit and f" {setting.unit}"
        words = [f"{_plain(end)}{unit}" for end in (number, float(setting.low), float(setting.high))]
        message = f'{words[0]} is outside the valid range for parameter "{setting.name}" ({words[1]} .. {words[2]})'
        raise SqlError(INVALID_PARAMETER_VALUE, message)
    return _plain(number)


def _in_unit(setting: Setting, text: str, number: float, unit: str) -> float:
    units = _units(setting.unit)
    if unit not in units:
        listed = [f'"{name}"' for name in units]
        hint = f"Valid units for this parameter are {', '.join(listed[:-1])}, and {listed[-1]}." if units else None
        raise SqlError(INVALID_PARAMETER_VALUE, invalid(setting.name, text), hint=hint)
    count, base = _unit(setting.unit)
    return number * units[unit] / (count * units[base])


def _units(unit: str) -> Mapping[str, int]:
    if not unit:
        return {}
    return TIME if _unit(unit)[1] in TIME else MEMORY


def _unit(unit: str) -> tuple[int, str]:
    figures = unit.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    return int(figures or 1), unit[len(figures) :]


def _plain(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 2**63 else f"{number:.15g}"
