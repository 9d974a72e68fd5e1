"""A session out of a request, each part checked before it is used, a mistake named.

{"session": {"setup": .., "parameters": {..}, "left_out": [..], "steps": [..]}, "at": n, "single_steps": bool}
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.http.request import RawPostDataException
from django.utils.translation import gettext as _

from catalog.text.storable import is_storable
from lab.sessions.session import STEPS_MAX, Session

BODY_BYTES_MAX = 64 * 1024
STEP_CHARS_MAX = 200
SEED_MAX = 999_999
PARAMETERS_MAX = 20


class BadRequest(ValueError):
    """A request that is no session; its words are for the reader."""


@dataclass(frozen=True, slots=True)
class StageRequest:
    """A session, the position to show (None: its end), the grain (None: the set-up's), the seed of a random step."""

    session: Session
    at: int | None
    single_steps: bool | None
    seed: int


def body_of(request: HttpRequest) -> bytes:
    """The body. Raises `BadRequest` for a form, which was read before any view is called."""
    try:
        return request.body
    except RawPostDataException:
        raise BadRequest(_("the request is no JSON")) from None


def asked(body: bytes) -> StageRequest:
    return asked_of(parts_of(body))


def parts_of(body: bytes) -> dict[str, Any]:
    """The parts of a request, not looked at yet. Raises `BadRequest`."""
    if len(body) > BODY_BYTES_MAX:
        raise BadRequest(_("the request is longer than {most} bytes").format(most=BODY_BYTES_MAX))
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest(_("the request is no JSON")) from None
    if not is_storable(found):
        raise BadRequest(_("a zero byte, or half of a character, is no text"))
    return _of(found, dict, "request")  # type: ignore[no-any-return]


def asked_of(parts: Mapping[str, Any]) -> StageRequest:
    session = _of(parts.get("session"), dict, "session")
    steps = _texts(session.get("steps", []), "steps")
    if len(steps) > STEPS_MAX:
        raise BadRequest(_("a session has at most {most} steps").format(most=STEPS_MAX))
    at = None if parts.get("at") is None else _whole(parts["at"], "at", most=len(steps))
    single = None if parts.get("single_steps") is None else truth(parts, "single_steps")
    return StageRequest(
        Session(
            setup=_of(session.get("setup"), str, "setup"),
            parameters=_parameters(session.get("parameters", {})),
            left_out=frozenset(_texts(session.get("left_out", []), "left_out")),
            steps=steps,
        ),
        at,
        single,
        _whole(parts.get("seed", 0), "seed", most=SEED_MAX),
    )


def truth(parts: Mapping[str, Any], name: str) -> bool:
    """A yes or no of a request; no where it says nothing. Raises `BadRequest`."""
    return bool(_of(parts.get(name, False), bool, name))


def _of(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise BadRequest(_("{name} is missing, or not what it should be").format(name=name))
    return value


def _whole(value: Any, name: str, *, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise BadRequest(_("{name} is a number from 0 to {most}").format(name=name, most=most))
    return value


def _texts(value: Any, name: str) -> tuple[str, ...]:
    texts = _of(value, list, name)
    for text in texts:
        if len(_of(text, str, name)) > STEP_CHARS_MAX:
            raise BadRequest(_("{name}: each is at most {most} characters long").format(name=name, most=STEP_CHARS_MAX))
    return tuple(texts)


def _parameters(value: Any) -> Mapping[str, Any]:
    """The set-up judges their meaning; here only their number and their types are checked."""
    found = _of(value, dict, "parameters")
    if len(found) > PARAMETERS_MAX:
        raise BadRequest(_("a session has at most {most} parameters").format(most=PARAMETERS_MAX))
    for name, one in found.items():
        _of(one, (str, int, bool, list), name)  # type: ignore[arg-type]
    return found
