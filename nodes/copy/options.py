"""Options of COPY TO, checked in PostgreSQL's order, so that of several mistakes it names the same one.

Those of COPY FROM are read by PostgreSQL itself.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from expressions.errors import (
    FEATURE_NOT_SUPPORTED,
    INVALID_PARAMETER_VALUE,
    INVALID_TEXT,
    SYNTAX_ERROR,
    SqlError,
    unsupported,
)
from nodes.copy.encodings import codec_of

Node = Any
FORMATS = ("text", "csv", "binary")
TRUE, FALSE = ("true", "on", "1"), ("false", "off", "0")
NOT_DELIMITERS = "\\.abcdefghijklmnopqrstuvwxyz0123456789"
ALL_COLUMNS = "*"


@dataclass(slots=True)
class Options:
    """Options with their defaults filled in. `force_..`: names of columns, or all of them."""

    format: str = "text"
    delimiter: str = ""
    null: str = ""
    header: bool = False
    quote: str = ""
    escape: str = ""
    codec: str = ""
    """The codec of another encoding than UTF-8."""
    force_quote: tuple[str, ...] = ()
    force_not_null: tuple[str, ...] = ()
    force_null: tuple[str, ...] = ()
    rejected_max: int = 0
    given: dict[str, str] = field(default_factory=dict)
    """Texts as they were given."""

    @property
    def is_binary(self) -> bool:
        return self.format == "binary"

    @property
    def is_csv(self) -> bool:
        return self.format == "csv"


def options_of(elements: Iterable[Node]) -> Options:
    """The options of a statement. Raises PostgreSQL's errors for what cannot be."""
    options, seen = Options(), set[str]()
    for item in elements:
        element = item.def_elem
        name = element.defname
        read = _READERS.get(name)
        if read is None:
            raise SqlError(SYNTAX_ERROR, f'option "{name}" not recognized', element.location)
        if name in seen and name != "on_error":
            raise SqlError(SYNTAX_ERROR, "conflicting or redundant options", element.location)
        seen.add(name)
        read(options, element)
    _check(options)
    return options


# -- the values of single options


def option(node: Node, name: str) -> str | None:
    """The word of a COPY for an option, in lower case: "" for its name alone; None where it is not given."""
    given = next((one.def_elem for one in node.options if one.def_elem.defname == name), None)
    return None if given is None else _string(given).lower() if given.HasField("arg") else ""


def wants_binary(node: Node) -> bool:
    """True for FORMAT binary, whatever else may be wrong with the options of a COPY."""
    return option(node, "format") == "binary"


def _string(element: Node) -> str:
    if not element.HasField("arg"):
        raise SqlError(SYNTAX_ERROR, f"{element.defname} requires a parameter")
    kind = element.arg.WhichOneof("node")
    value = getattr(element.arg, kind)
    match kind:
        case "string":
            return str(value.sval)
        case "integer":
            return str(value.ival)
        case "float":
            return str(value.fval)
        case "boolean":
            return "true" if value.boolval else "false"
        case "a_star":
            return ALL_COLUMNS
    raise SqlError(SYNTAX_ERROR, f"{element.defname} requires a parameter")


def _truth(element: Node) -> bool | None:
    """A Boolean value; None for anything else."""
    if not element.HasField("arg"):
        return True
    word = _string(element).lower()
    return True if word in TRUE else False if word in FALSE else None


def _format(options: Options, element: Node) -> None:
    name = _string(element)
    if name not in FORMATS:
        raise SqlError(INVALID_PARAMETER_VALUE, f'COPY format "{name}" not recognized', element.location)
    options.format = name


def _freeze(options: Options, element: Node) -> None:
    value = _truth(element)
    if value is None:
        raise SqlError(SYNTAX_ERROR, f"{element.defname} requires a Boolean value")
    if value:
        options.given["freeze"] = "on"


def _text(options: Options, element: Node) -> None:
    options.given[element.defname] = _string(element)


def _header(options: Options, element: Node) -> None:
    value = _truth(element)
    if value is None and _string(element).lower() == "match":
        raise SqlError(FEATURE_NOT_SUPPORTED, 'cannot use "match" with HEADER in COPY TO')
    if value is None:
        raise SqlError(SYNTAX_ERROR, f'{element.defname} requires a Boolean value or "match"')
    options.header = value


def _columns(options: Options, element: Node) -> None:
    kind = element.arg.WhichOneof("node") if element.HasField("arg") else None
    if kind == "a_star":
        names: tuple[str, ...] = (ALL_COLUMNS,)
    elif kind == "list":
        names = tuple(item.string.sval for item in element.arg.list.items)
    else:
        message = f'argument to option "{element.defname}" must be a list of column names'
        raise SqlError(INVALID_PARAMETER_VALUE, message, element.location)
    setattr(options, element.defname, names)


def _encoding(options: Options, element: Node) -> None:
    try:
        options.codec = codec_of(_string(element))
    except LookupError:
        message = f'argument to option "{element.defname}" must be a valid encoding name'
        raise SqlError(INVALID_PARAMETER_VALUE, message, element.location) from None


def _on_error(_: Options, element: Node) -> None:
    raise SqlError(INVALID_PARAMETER_VALUE, "COPY ON_ERROR cannot be used with COPY TO", element.location)


def _log_verbosity(_: Options, element: Node) -> None:
    word = _string(element)
    if word not in ("default", "verbose", "silent"):
        raise SqlError(INVALID_PARAMETER_VALUE, f'COPY LOG_VERBOSITY "{word}" not recognized', element.location)


def _reject_limit(options: Options, element: Node) -> None:
    word = _string(element)
    try:
        options.rejected_max = int(word)
    except ValueError:
        raise SqlError(INVALID_TEXT, f'invalid input syntax for type bigint: "{word}"') from None
    if options.rejected_max <= 0:
        message = f"REJECT_LIMIT ({options.rejected_max}) must be greater than zero"
        raise SqlError(INVALID_PARAMETER_VALUE, message)


_READERS: dict[str, Callable[[Options, Node], None]] = {
    "format": _format, "freeze": _freeze, "delimiter": _text, "null": _text, "default": _text, "header": _header,
    "quote": _text, "escape": _text, "force_quote": _columns, "force_not_null": _columns, "force_null": _columns,
    "encoding": _encoding, "on_error": _on_error, "log_verbosity": _log_verbosity, "reject_limit": _reject_limit,
}  # fmt: skip


# -- together


def _check(options: Options) -> None:
    """Fill in the defaults, and refuse what does not go together."""
    given = options.given
    if options.is_binary:
        for name in ("delimiter", "null", "default"):
            if name in given:
                raise SqlError(SYNTAX_ERROR, f"cannot specify {name.upper()} in BINARY mode")
    options.delimiter = given.get("delimiter", "," if options.is_csv else "\t")
    options.null = given.get("null", "" if options.is_csv else "\\N")
    if options.is_csv:
        options.quote = given.get("quote", '"')
        options.escape = given.get("escape", options.quote)
    _check_texts(options)
    if options.is_binary and options.header:
        raise SqlError(FEATURE_NOT_SUPPORTED, "cannot specify HEADER in BINARY mode")
    _check_csv(options)
    _check_markers(options)
    if options.rejected_max:
        raise SqlError(INVALID_PARAMETER_VALUE, "COPY REJECT_LIMIT requires ON_ERROR to be set to IGNORE")
    if options.is_binary and options.codec:
        raise unsupported("COPY in BINARY mode with another encoding than UTF-8")


def _check_texts(options: Options) -> None:
    if len(options.delimiter.encode()) != 1:
        raise SqlError(FEATURE_NOT_SUPPORTED, "COPY delimiter must be a single one-byte character")
    if options.delimiter in "\r\n":
        raise SqlError(INVALID_PARAMETER_VALUE, "COPY delimiter cannot be newline or carriage return")
    for name, text in (("null", options.null), ("default", options.given.get("default", ""))):
        if "\r" in text or "\n" in text:
            message = f"COPY {name} representation cannot use newline or carriage return"
            raise SqlError(INVALID_PARAMETER_VALUE, message)
    if not options.is_csv and options.delimiter in NOT_DELIMITERS:
        raise SqlError(INVALID_PARAMETER_VALUE, f'COPY delimiter cannot be "{options.delimiter}"')


def _check_csv(options: Options) -> None:
    """Checks of options that only CSV has."""
    given = options.given
    if options.is_csv and len(options.quote.encode()) != 1:
        raise SqlError(FEATURE_NOT_SUPPORTED, "COPY quote must be a single one-byte character")
    if options.is_csv and options.delimiter == options.quote:
        raise SqlError(INVALID_PARAMETER_VALUE, "COPY delimiter and quote must be different")
    if options.is_csv and len(options.escape.encode()) != 1:
        raise SqlError(FEATURE_NOT_SUPPORTED, "COPY escape must be a single one-byte character")
    for name, is_given in (
        ("QUOTE", "quote" in given),
        ("ESCAPE", "escape" in given),
        ("FORCE_QUOTE", bool(options.force_quote)),
        ("FORCE_NOT_NULL", bool(options.force_not_null)),
        ("FORCE_NULL", bool(options.force_null)),
    ):
        if is_given and not options.is_csv:
            raise SqlError(FEATURE_NOT_SUPPORTED, f"COPY {name} requires CSV mode")
        if is_given and name in ("FORCE_NOT_NULL", "FORCE_NULL"):
            raise SqlError(INVALID_PARAMETER_VALUE, f"COPY {name} cannot be used with COPY TO")


def _check_markers(options: Options) -> None:
    """The marker of NULL differs from everything else. Raises for options of COPY FROM."""
    if options.delimiter in options.null:
        message = "COPY delimiter character must not appear in the NULL specification"
        raise SqlError(INVALID_PARAMETER_VALUE, message)
    if options.is_csv and options.quote in options.null:
        raise SqlError(INVALID_PARAMETER_VALUE, "CSV quote character must not appear in the NULL specification")
    if "freeze" in options.given:
        raise SqlError(INVALID_PARAMETER_VALUE, "COPY FREEZE cannot be used with COPY TO")
    if "default" in options.given:
        raise SqlError(FEATURE_NOT_SUPPORTED, "COPY DEFAULT cannot be used with COPY TO")
