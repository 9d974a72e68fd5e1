"""A set-up: the machine of a session, its parameters, and the rules that may be left out of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.sessions.session import BadSession, Session, Value, is_value
from lab.sessions.shown import Text

MODEL, WORLD, HANDBOOKS = "model", "world", "handbooks"
TEXT_CHARACTERS_MAX, LIST_MAX = 4_000, 20


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value of the default's type, one of `choices` if there are any, a number from 0 to `most`."""

    name: str
    default: Value
    label: Text
    choices: tuple[str | int, ...] = ()
    most: int = 1_000


@dataclass(frozen=True, slots=True)
class LeftOut:
    id: str
    protects: Text


@dataclass(frozen=True, slots=True)
class Setup:
    """`begins`: the first steps of a new session; `single_steps`: the default; `chapter`: its id, or ""."""

    name: str
    kind: str
    title: Text
    about: Text
    parameters: tuple[Parameter, ...] = ()
    may_leave_out: tuple[LeftOut, ...] = ()
    single_steps: bool = False
    chapter: str = ""
    begins: tuple[str, ...] = ()

    def values(self, session: Session) -> Mapping[str, Value]:
        known = {parameter.name: parameter for parameter in self.parameters}
        unknown = sorted(set(session.parameters) - set(known))
        if unknown:
            has = ", ".join(known) or "none"
            raise BadSession(f"set-up {self.name} has no parameter {unknown[0][:40]}; its parameters: {has}")
        for name, value in session.parameters.items():
            _check(known[name], value)
        return {name: session.parameters.get(name, parameter.default) for name, parameter in known.items()}

    def check_left_out(self, session: Session) -> None:
        """Raises `BadSession` for a rule that this set-up cannot leave out."""
        may = [one.id for one in self.may_leave_out]
        unknown = sorted(session.left_out - set(may))
        if unknown:
            left = ", ".join(may) or "none"
            raise BadSession(f"set-up {self.name} cannot leave out {unknown[0][:40]}; rules that it can: {left}")


def _check(parameter: Parameter, value: Value) -> None:
    name, default = parameter.name, parameter.default
    if not is_value(value) or isinstance(value, bool) != isinstance(default, bool):
        raise BadSession(f"parameter {name} cannot be {_short(value)}")
    if not isinstance(value, list if isinstance(default, list) else str if isinstance(default, str) else int):
        raise BadSession(f"parameter {name} cannot be {_short(value)}: it is like {_short(default)}")
    if isinstance(value, int) and not 0 <= value <= parameter.most:
        raise BadSession(f"parameter {name} is {_short(value)}; it must be 0 to {parameter.most}")
    if isinstance(value, str) and len(value) > TEXT_CHARACTERS_MAX:
        raise BadSession(f"parameter {name} has {len(value)} characters, at most {TEXT_CHARACTERS_MAX} are possible")
    if isinstance(value, list) and len(value) > LIST_MAX:
        raise BadSession(f"parameter {name} has {len(value)} members, at most {LIST_MAX} are possible")
    if parameter.choices and value not in parameter.choices:
        raise BadSession(f"parameter {name} is {_short(value)}; it is one of {', '.join(map(str, parameter.choices))}")


def _short(value: object) -> str:
    return repr(value)[:60]
