"""Options of COPY as far as a node reads them: what they mean, and what is wrong with them, PostgreSQL says."""

from typing import Any

Node = Any


def option(node: Node, name: str) -> str | None:
    """The word of a COPY for an option, in lower case: "" for its name alone; None where it is not given."""
    given = next((one.def_elem for one in node.options if one.def_elem.defname == name), None)
    if given is None or not given.HasField("arg"):
        return None if given is None else ""
    match given.arg.WhichOneof("node"):
        case "string":
            return str(given.arg.string.sval).lower()
        case "integer":
            return str(given.arg.integer.ival)
        case "boolean":
            return "true" if given.arg.boolean.boolval else "false"
    return "*"


def forced_quotes(node: Node) -> tuple[str, ...]:
    """The columns that FORCE_QUOTE names."""
    given = (one.def_elem.arg.list.items for one in node.options if one.def_elem.defname == "force_quote")
    return tuple(item.string.sval for item in next(given, ()))


def wants_binary(node: Node) -> bool:
    """True for FORMAT binary, whatever else may be wrong with the options of a COPY."""
    return option(node, "format") == "binary"
