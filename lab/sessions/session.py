"""A session as a value, and as the text of a link: compressed url-safe JSON, with a position and the fingerprint of the
rules it was made with. A link may come from an attacker: everything in it is checked and bounded first, or `BadLink`
says what is wrong. Whether its steps are possible is for the replay."""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.text.storable import is_storable
from lab.explorer import fingerprint as explorer
from lab.sessions.places import added_places

PLACES = (
    *explorer.PLACES, "lab/cluster", "lab/ladders/sentences.py", "lab/scripts", "lab/sessions",
    "nodes/router", "nodes/sql",
)  # fmt: skip

STEPS_MAX = 200
STEP_CHARACTERS_MAX = 200
LINK_CHARACTERS_MAX = 8_000
PARAMETERS_MAX = 20
BODY_BYTES_MAX = 65_536
"""A link's JSON when it is decompressed."""

DEPTH_MAX = 8
"""JSON may be nested so deeply; ours is nested four deep."""

FORMAT = 1

Value = str | int | bool | list["str | int | bool"]


class BadSession(ValueError):
    """An unknown set-up, a wrong parameter, too many steps .."""


class BadLink(ValueError):
    """A text that is no link; says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Session:
    """A set-up (`lab.sessions.setups`), its parameters, the ids of rules left out, and the names of the steps taken."""

    setup: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    steps: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """Without the parameters, whose values may be lists."""
        return hash((self.setup, self.left_out, self.steps))


@dataclass(frozen=True, slots=True)
class LinkContents:
    """`rules` is the fingerprint it was made with: under others, a step may be impossible."""

    session: Session
    at: int
    rules: str

    @property
    def has_other_rules(self) -> bool:
        return self.rules != rules()


def rules() -> str:
    return explorer.fingerprint(places=rules_of())


def rules_of() -> tuple[str, ...]:
    return PLACES + added_places()


def link_of(session: Session, at: int | None = None) -> str:
    """The link of a session; "" if it is too long for one."""
    try:
        return encode(session, at)
    except BadSession:
        return ""


def encode(session: Session, at: int | None = None) -> str:
    """`at`: None is the end. Raises `BadSession` if the link is too long."""
    check_steps(session.steps)
    at = len(session.steps) if at is None else at
    left_out, parameters = sorted(session.left_out), dict(session.parameters)
    body = [FORMAT, session.setup, parameters, left_out, list(session.steps), at, rules()]
    data = zlib.compress(json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(), 9)
    text = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    if len(text) > LINK_CHARACTERS_MAX:
        raise BadSession(f"a link has at most {LINK_CHARACTERS_MAX} characters, this one has {len(text)}")
    return text


def decode(text: str) -> LinkContents:
    """Raises `BadLink`."""
    if len(text) > LINK_CHARACTERS_MAX:
        raise BadLink(f"a link has at most {LINK_CHARACTERS_MAX} characters, this one has {len(text)}")
    body = _body(text)
    if not isinstance(body, list) or len(body) != 7 or body[0] != FORMAT:
        raise BadLink("this is a link of another version of the lab, or of something else")
    _, setup, parameters, left_out, steps, at, made_with = body
    if not (isinstance(setup, str) and isinstance(made_with, str)):
        raise BadLink("the link names no set-up")
    if not isinstance(parameters, dict) or len(parameters) > PARAMETERS_MAX:
        raise BadLink(f"the link's parameters are no mapping of at most {PARAMETERS_MAX}")
    for name, value in parameters.items():
        if not is_value(value):
            raise BadLink(f"parameter {name} is no text, number, yes or no, or list of these")
    if not (_is_texts(left_out) and _is_texts(steps)):
        raise BadLink("the link's steps, or the rules left out, are no list of names")
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= len(steps):
        raise BadLink(f"the link's position is not between 0 and its {len(steps)} steps")
    try:
        check_steps(steps)
    except BadSession as error:
        raise BadLink(str(error)) from error
    return LinkContents(Session(setup, parameters, frozenset(left_out), tuple(steps)), at, made_with)


def check_steps(steps: Sequence[str]) -> None:
    """Raises `BadSession` for too many steps, or a name that is too long or not printable."""
    if len(steps) > STEPS_MAX:
        raise BadSession(f"a session has at most {STEPS_MAX} steps, this one has {len(steps)}")
    longest = max(steps, key=len, default="")
    if len(longest) > STEP_CHARACTERS_MAX:
        raise BadSession(f"a step's name has at most {STEP_CHARACTERS_MAX} characters: {longest[:20]}.. has more")
    unprintable = next((step for step in steps if not step.isprintable()), None)
    if unprintable is not None:
        raise BadSession(f"a step's name is of printable characters: {unprintable!a} is not")


def is_value(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(one, str | int) and is_value(one) for one in value)
    return isinstance(value, str | int) and is_storable(value)


def _body(text: str) -> Any:
    try:
        data = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(data, BODY_BYTES_MAX)
    except (UnicodeEncodeError, binascii.Error, zlib.error) as error:
        raise BadLink("the link is cut off, or was changed on its way") from error
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise BadLink("the link is cut off, or holds more than a session can")
    if _depth(plain) > DEPTH_MAX:
        raise BadLink("the link holds no session")
    try:
        body = json.loads(plain)
        json.dumps(body, ensure_ascii=False).encode()
        return body
    except ValueError as error:
        raise BadLink("the link holds no session") from error


def _depth(body: bytes) -> int:
    deepest = depth = 0
    in_text = is_escaped = False
    for byte in body:
        if is_escaped:
            is_escaped = False
        elif byte in b'"':
            in_text = not in_text
        elif in_text:
            is_escaped = byte in b"\\"
        else:
            depth += (byte in b"[{") - (byte in b"]}")
            deepest = max(deepest, depth)
    return deepest


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
