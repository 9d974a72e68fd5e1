"""The errors of requests, with a class that a program can ask for and PostgreSQL's code."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.text.similar import perhaps
from expressions.errors import (
    CONNECTION_FAILURE,
    DATATYPE_MISMATCH,
    DEADLOCK,
    FEATURE_NOT_SUPPORTED,
    INVALID_PARAMETER_VALUE,
    INVALID_TEXT,
    QUERY_CANCELED,
    SERIALIZATION_FAILURE,
    TRANSACTION_UNKNOWN,
    UNDEFINED_COLUMN,
    UNDEFINED_OBJECT,
    UNDEFINED_TABLE,
    UNIQUE_VIOLATION,
    SqlError,
)

Json = dict[str, Any]

CLASSES = {
    UNDEFINED_TABLE: "UnknownTableError",
    UNDEFINED_COLUMN: "UnknownFieldError",
    UNIQUE_VIOLATION: "DuplicateKeyError",
    SERIALIZATION_FAILURE: "ConflictError",
    DEADLOCK: "ConflictError",
    TRANSACTION_UNKNOWN: "UnknownOutcomeError",
    FEATURE_NOT_SUPPORTED: "NotSupportedError",
    CONNECTION_FAILURE: "StorageError",
    DATATYPE_MISMATCH: "ValueError",
}
BY_PREFIX = {"22": "ValueError", "23": "ConstraintError", "42": "RequestError", "54": "LimitError", "53": "LimitError"}

NAME_CHARS_MAX = 63


@dataclass(eq=False)
class RequestError(SqlError):
    """A mistake of the request, or what became of it on its way; `kind` is its class."""

    kind: str = "RequestError"


def named(name: str) -> str:
    """A name that a client gave, as a message repeats it: no more of it than a name can be long."""
    return name if len(name) <= NAME_CHARS_MAX else f"{name[:NAME_CHARS_MAX]}.."


def bad_request(message: str, *, hint: str | None = None) -> RequestError:
    return RequestError(INVALID_PARAMETER_VALUE, message, hint=hint)


def bad_option(message: str, *, hint: str | None = None) -> RequestError:
    return RequestError(INVALID_PARAMETER_VALUE, message, hint=hint, kind="OptionsError")


def bad_row(message: str, *, hint: str | None = None) -> RequestError:
    """A row, key or condition that does not fit the version of the table: another version may have it."""
    return RequestError(INVALID_TEXT, message, hint=hint, kind="FlattenError")


def unknown_field(message: str, *, hint: str | None = None) -> RequestError:
    return RequestError(UNDEFINED_COLUMN, message, hint=hint, kind=CLASSES[UNDEFINED_COLUMN])


def unknown_index(message: str, *, hint: str | None = None) -> RequestError:
    return RequestError(UNDEFINED_OBJECT, message, hint=hint, kind="UnknownIndexError")


def bad_bucket(message: str, *, hint: str | None = None) -> RequestError:
    return RequestError(INVALID_PARAMETER_VALUE, message, hint=hint, kind="BucketError")


def too_late(timeout_s: float, phase: str) -> RequestError:
    return RequestError(QUERY_CANCELED, f"the request's {timeout_s:g} s were over while {phase}", kind="TimeoutError")


def unknown_table(table: str, met: Iterable[str]) -> RequestError:
    """`met` are names of tables that there are, or were a moment ago: one of them may have been meant."""
    message, hint = f'relation "{named(table)}" does not exist', perhaps("table", table, met)
    return RequestError(UNDEFINED_TABLE, message, hint=hint, kind="UnknownTableError")


def mismatch(version: int, refusal: str, why_no_retry: str) -> RequestError:
    """The storage refused the version that the request was planned with, and its one retry is spent or impossible."""
    return RequestError(
        SERIALIZATION_FAILURE,
        f"the storage refused version {version}: {why_no_retry}",
        detail=refusal,
        hint="nothing was written; send the request again",
        kind="SchemaMismatchError",
    )


def built_for_other(version: int, descriptor: Descriptor) -> RequestError:
    """The tuple of another version than the table is at here; a newer one may be known elsewhere."""
    kind = "SchemaMismatchError" if version < descriptor.version else "FlattenError"
    message = f"the tuple was built for version {version}: {descriptor.name} is at version {descriptor.version}"
    hint = f"build it anew: crud.schema('{descriptor.name}') has the columns"
    return RequestError(INVALID_TEXT, message, hint=hint, kind=kind)


def reload_failed(cause: str) -> RequestError:
    return RequestError(CONNECTION_FAILURE, f"the schema could not be loaded again: {cause}", kind="ReloadError")


def class_of(error: SqlError) -> str:
    if isinstance(error, RequestError):
        return error.kind
    return CLASSES.get(error.sqlstate) or BY_PREFIX.get(error.sqlstate[:2], "StorageError")


def error_json(error: SqlError, table: str | None, version: int | None) -> Json:
    found: Json = {"class": class_of(error), "message": error.message, "code": error.sqlstate}
    found |= {"table": error.table or table, "version": version}
    found |= {"column": error.column, "constraint": error.constraint, "detail": error.detail, "hint": error.hint}
    return {name: value for name, value in found.items() if value is not None}
