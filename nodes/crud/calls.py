"""A call of an operation, as SQL has it: `SELECT crud.get('customers', '7', '{"timeout": 1}')`, with constants or
parameters. It stands alone: a request with a transaction of its own. Numbers of JSON keep their digits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.text.similar import perhaps
from catalog.text.storable import NO_CHARACTER, texts_in
from expressions.errors import BAD_CHARACTER, INVALID_BINARY, PROGRAM_LIMIT, UNDEFINED_FUNCTION, SqlError, unsupported
from expressions.limits import VALUE_BYTES_MAX
from expressions.sqltypes import BOOL, FLOATS, INTEGERS, TEXT, UNKNOWN
from nodes.crud.catalogue import OPERATIONS, Operation, check_options
from nodes.crud.errors import RequestError, bad_request, named
from nodes.crud.shapes import SHAPES, not_json, shape_of, wrong
from nodes.wire.messages import decode_text
from nodes.wire.parameters import BPCHAR, NAME, VARCHAR, values_of

Node = Any
SCHEMA = "crud"
JSON_OID, JSONB_OID = 114, 3802
JSON_TYPES = frozenset({JSON_OID, JSONB_OID})
TEXTS = frozenset({0, UNKNOWN.oid, TEXT.oid, VARCHAR, BPCHAR, NAME, JSON_OID})
"""The types of parameters whose binary form is the text itself."""
NUMBERS = frozenset({*(of.oid for of in (*INTEGERS, *FLOATS)), BOOL.oid})
"""Those whose binary form is read as what JSON has, too: a number, true or false."""
JSONB_FORM = b"\x01"
BATCH_BYTES_MAX = 4 * 2**20
ROWS = frozenset({"tuples", "objects", "rows"})
LIMIT = "LimitError"
PART_BYTES = 64
"""Of a value, a list or an object that was read, besides its text."""
WHOLE_DIGITS_MAX = 4300
"""Python reads no longer one as a number: that keeps its digits, which a numeric column may take."""
PARTS_MAX = 500_000
"""Commas in the JSON of one argument: the reading of so many parts takes half a second."""


class Number(float):
    """A number with a point or an exponent, or a very long one, and the text it was written as."""

    text: str

    def __new__(cls, text: str) -> "Number":
        found = super().__new__(cls, text)
        found.text = text
        return found


@dataclass(frozen=True, slots=True)
class Argument:
    text: str | None = None
    parameter: int = 0


@dataclass(frozen=True, slots=True)
class CallText:
    """A call before its parameters are known. `name` is what its result column is called."""

    operation: Operation
    arguments: tuple[Argument, ...]
    name: str

    @property
    def parameters(self) -> int:
        return max((argument.parameter for argument in self.arguments), default=0)


@dataclass(frozen=True, slots=True)
class Call:
    """A request: its operation, the table's name, its other arguments by name, its options."""

    operation: Operation
    table: str | None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def timeout_s(self) -> float | None:
        given = self.options.get("timeout")
        return self.operation.timeout_s if given is None else float(given)


def is_call(select: Node) -> bool:
    """True for SELECT crud.anything(..): the parse tree of a statement."""
    if len(select.target_list) != 1 or len(select.from_clause):
        return False
    value = select.target_list[0].res_target.val
    if value.WhichOneof("node") != "func_call":
        return False
    name = value.func_call.funcname
    return len(name) == 2 and name[0].string.sval == SCHEMA


def call_text(select: Node) -> CallText:
    """The call of a statement. Raises 42883 for an operation or a number of arguments that there is not."""
    target = select.target_list[0].res_target
    function = target.val.func_call
    name = function.funcname[1].string.sval
    if any(getattr(select, part) for part in ("group_clause", "sort_clause", "values_lists")) or any(
        select.HasField(part) for part in ("where_clause", "having_clause", "with_clause", "limit_count")
    ):
        raise unsupported(f"crud.{name} within a query", function.location, "SELECT crud.f(..) stands alone")
    operation = OPERATIONS.get(name)
    if operation is None:
        meant = perhaps("operation", name, OPERATIONS)
        known = f"{f'{meant} ' if meant else ''}There are {', '.join(OPERATIONS)}."
        raise SqlError(UNDEFINED_FUNCTION, f"there is no operation crud.{name}", function.location, hint=known)
    if not operation.required <= len(function.args) <= len(operation.arguments):
        shape = ", ".join(operation.arguments)
        least, most = operation.required, len(operation.arguments)
        numbers = str(least) if least == most else f"{least} to {most}"
        message = f"crud.{name} takes {numbers} arguments, not {len(function.args)}"
        raise SqlError(UNDEFINED_FUNCTION, message, function.location, hint=f"crud.{name}({shape})")
    return CallText(operation, tuple(_argument(node, name) for node in function.args), target.name or name)


def _argument(node: Node, of: str) -> Argument:
    match node.WhichOneof("node"):
        case "a_const":
            return Argument(_constant(node.a_const))
        case "param_ref" if node.param_ref.number > 0:
            return Argument(parameter=node.param_ref.number)
        case "type_cast" if node.type_cast.type_name.names[-1].string.sval in ("json", "jsonb", "text"):
            return _argument(node.type_cast.arg, of)
        case "a_expr" if pb.A_Expr_Kind.Name(node.a_expr.kind) == "AEXPR_OP" and not node.a_expr.HasField("lexpr"):
            inner = _argument(node.a_expr.rexpr, of)
            if node.a_expr.name[0].string.sval == "-" and inner.text is not None:
                return Argument(f"-{inner.text}")
    message = f"an argument of crud.{of} is a text with JSON in it, a number, or a parameter"
    raise bad_request(message, hint=f"crud.{of}({', '.join(OPERATIONS[of].arguments)})")


def _constant(const: Node) -> str | None:
    match const.WhichOneof("val"):
        case "sval":
            return str(const.sval.sval)
        case "ival":
            return str(const.ival.ival)
        case "fval":
            return str(const.fval.fval)
        case "boolval":
            return "true" if const.boolval.boolval else "false"
    return None


def call_of(text: CallText, values: Sequence[str | None]) -> Call:
    """The request, with the values of $1, $2, .. Raises `RequestError`."""
    operation = text.operation
    given = [values[a.parameter - 1] if a.parameter else a.text for a in text.arguments]
    named = dict(zip(operation.arguments, given, strict=False))
    table = named.pop("table", None)
    if table is None and operation.required and operation.arguments[0] == "table":
        raise bad_request(f"crud.{operation.name} needs the name of a table")
    texts, of = {name: value for name, value in named.items() if value is not None}, operation.name
    for name, value in texts.items():  # one that takes too long to read is refused; those with many rows may be longer
        limit = BATCH_BYTES_MAX if name in ROWS else VALUE_BYTES_MAX
        if len(value) > limit:
            message = f"argument {name} has {len(value)} characters; the limit is {limit}"
            raise RequestError(PROGRAM_LIMIT, message, kind=LIMIT)
        if value.count(",") > PARTS_MAX:
            raise RequestError(PROGRAM_LIMIT, f"argument {name} has more than {PARTS_MAX} parts", kind=LIMIT)
    read = {name: value if name == "index" else read_json(value, name, of) for name, value in texts.items()}
    options = read.pop("options", None) or {}
    if not isinstance(options, dict):
        raise wrong("options", SHAPES["options"], options)
    check_options(operation, options)
    for name in operation.arguments[1 : operation.required]:
        if name not in read:
            message = f"argument {name} of crud.{of} must not be NULL"
            raise bad_request(message, hint=f"it is {shape_of(name, of)}")
    return Call(operation, table, read, options)


def parsed_bytes(text: CallText, values: Sequence[str | None]) -> int:
    """Bytes that the arguments take when they are read, about: the texts, and each of their parts as a value."""
    given = (values[a.parameter - 1] if a.parameter else a.text for a in text.arguments)
    return sum(len(one) + PART_BYTES * (one.count(",") + one.count("[") + one.count("{")) for one in given if one)


def declared(oids: Sequence[int]) -> list[int]:
    return [TEXT.oid if oid in JSON_TYPES else oid for oid in oids]


def argument_texts(oids: Sequence[int], values: Sequence[bytes | None], formats: Sequence[int]) -> list[str | None]:
    """The texts of $1, $2, .., by the oids of their types. Raises PostgreSQL's code for what is no such value."""
    found: list[str | None] = []
    for number, (oid, value) in enumerate(zip(oids, values, strict=True), start=1):
        is_binary = bool(formats) and formats[number - 1] != 0
        if value is None:
            found.append(None)
        elif oid == BOOL.oid or (is_binary and oid in NUMBERS):
            found.append(json.dumps(values_of([oid], [value], formats[number - 1 : number])[0]))
        elif not is_binary or oid in TEXTS:
            found.append(decode_text(value))
        elif oid == JSONB_OID:
            if not value.startswith(JSONB_FORM):
                raise SqlError(INVALID_BINARY, f"incorrect binary data format in bind parameter {number}")
            found.append(decode_text(value[len(JSONB_FORM) :]))
        else:
            raise unsupported(f"the binary format of parameter ${number} of a crud operation", hint="send it as text")
    return found


def read_json(text: str, what: str, operation: str = "") -> Any:
    try:
        found = _DECODER.decode(text)
    except RecursionError:
        raise bad_request(f"argument {what} is nested too deeply") from None
    except ValueError as error:
        raise not_json(what, text, shape_of(what, operation), str(error)) from None
    escaped = texts_in(found) if "\\u" in text else ()  # the only way to write a NUL, or half of a surrogate pair
    for refused in filter(None, map(NO_CHARACTER.search, escaped)):
        message = f"argument {what} has an escape that is no character: \\u{ord(refused[0]):04x}"
        raise RequestError(BAD_CHARACTER, message, kind="ValueError")
    return found


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a value of JSON; write it as a text")


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in members:
        if name in found:
            raise ValueError(f"the name {named(name)} comes twice in an object")
        found[name] = value
    return found


_DECODER = json.JSONDecoder(
    parse_float=Number,
    parse_int=lambda text: int(text) if len(text) <= WHOLE_DIGITS_MAX else Number(text),
    parse_constant=_refuse_constant,
    object_pairs_hook=_object,
)
