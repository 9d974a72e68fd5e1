"""The operations there are, with their arguments and options. An option that is not in this table is an error."""

from dataclasses import dataclass
from typing import Any

from catalog.text.similar import perhaps
from nodes.crud.errors import bad_option
from nodes.crud.shapes import kind_of

TIMEOUT_S = 2.0
TIMEOUT_S_MAX = 3600.0
ABOUT_S = 30.0
"""What is asked about all tables may take longer."""
BATCH_ROWS = 1000
FIRST_MAX = 2**31 - 1
BATCH_ROWS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Operation:
    """`arguments` by name; those behind `required` may be left out. `options`: None where it takes none. `timeout_s`:
    how long it may take unless the request says; None: as long as it takes."""

    name: str
    arguments: tuple[str, ...]
    required: int
    options: frozenset[str] | None = None
    writes: bool = False
    timeout_s: float | None = TIMEOUT_S

    @property
    def is_object(self) -> bool:
        """Rows come as objects: they are flattened by the schema, whose hash is always sent."""
        return "object" in self.name

    @property
    def verb(self) -> str:
        return self.name.removesuffix("_many").removesuffix("_object")


COMMON = frozenset({"timeout"})
ROW = COMMON | {"bucket_id", "fields", "add_space_schema_hash", "noreturn", "fetch_latest_metadata"}
TUPLE = ROW | {"version"}
MANY = (ROW - {"bucket_id"}) | {"stop_on_error", "rollback_on_error"}
TUPLES = MANY | {"version"}
READ = COMMON | {"bucket_id", "fields", "add_space_schema_hash", "fetch_latest_metadata"}
SELECT = READ | {"first", "after", "batch_size", "force_map_call"}
COUNT = COMMON | {"bucket_id", "add_space_schema_hash", "force_map_call"}
FEW = COMMON | {"fields", "add_space_schema_hash", "fetch_latest_metadata"}


def _operation(
    name: str, *arguments: str, options: frozenset[str] | None = None, least: int | None = None, **more: Any
) -> Operation:
    named = ("table", *arguments, *(() if options is None else ("options",)))
    return Operation(name, named, least or 1 + len(arguments), options, **more)


OPERATIONS = {
    one.name: one
    for one in (
        *(_operation(n, "tuple", options=TUPLE, writes=True) for n in ("insert", "replace")),
        *(_operation(n, "object", options=ROW, writes=True) for n in ("insert_object", "replace_object")),
        *(_operation(n, "tuples", options=TUPLES, writes=True) for n in ("insert_many", "replace_many")),
        *(_operation(n, "objects", options=MANY, writes=True) for n in ("insert_object_many", "replace_object_many")),
        _operation("upsert", "tuple", "operations", options=TUPLE, writes=True),
        _operation("upsert_object", "object", "operations", options=ROW, writes=True),
        _operation("upsert_many", "tuples", options=TUPLES, writes=True),
        _operation("upsert_object_many", "objects", options=MANY, writes=True),
        _operation("get", "key", options=READ),
        _operation("update", "key", "operations", options=ROW, writes=True),
        _operation("delete", "key", options=ROW, writes=True),
        _operation("select", "conditions", options=SELECT, least=1),
        _operation("pairs", "conditions", options=SELECT, least=1, timeout_s=None),
        _operation("count", "conditions", options=COUNT, least=1),
        _operation("len", options=COMMON),
        _operation("min", "index", options=FEW, least=1),
        _operation("max", "index", options=FEW, least=1),
        _operation("truncate", options=COMMON, writes=True, timeout_s=None),
        Operation("unflatten_rows", ("rows", "metadata"), 2),
        Operation("schema", ("table", "options"), 0, COMMON, timeout_s=ABOUT_S),
        Operation("storage_info", ("options",), 0, COMMON, timeout_s=ABOUT_S),
        Operation("stats", ("table",), 0),
    )
}

FLAGS = frozenset({
    "add_space_schema_hash", "noreturn", "fetch_latest_metadata", "stop_on_error", "rollback_on_error",
    "force_map_call",
})  # fmt: skip


def check_options(operation: Operation, options: dict[str, Any]) -> None:
    """Raises `OptionsError` for an option that the operation does not have, or a value that it cannot have."""
    for name, value in options.items():
        if operation.options is None or name not in operation.options:
            known = ", ".join(sorted(operation.options or ())) or "none"
            meant = perhaps("option", name, operation.options or ())
            hint = f"{f'{meant} ' if meant else ''}It has: {known}."
            raise bad_option(f"crud.{operation.name} has no option {name}", hint=hint)
        is_right, wanted = _is_right(name, value)
        if not is_right:
            raise bad_option(f"option {name} of crud.{operation.name} must be {wanted}, not {kind_of(value)}")
    if options.get("first", 0) < 0 and "after" not in options:
        raise bad_option("a negative first needs option after: so many rows before that one")


def _is_right(name: str, value: Any) -> tuple[bool, str]:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if name in FLAGS:
        return isinstance(value, bool), "true or false"
    if name == "timeout":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and 0 < value <= TIMEOUT_S_MAX, f"seconds, more than 0 and at most {TIMEOUT_S_MAX:g}"
    if name == "fields":
        is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return is_list and len(value) > 0, "a list of column names"
    if name == "after":
        return isinstance(value, list | dict), "a row: a list, or an object"
    if name == "bucket_id":
        return is_whole and value >= 1, "the number of a bucket"
    if name == "version":
        return is_whole and value >= 1, "the number of a version"
    if name == "first":
        return is_whole and abs(value) <= FIRST_MAX, "a number of rows"
    return is_whole and 1 <= value <= BATCH_ROWS_MAX, f"a number of rows from 1 to {BATCH_ROWS_MAX}"
