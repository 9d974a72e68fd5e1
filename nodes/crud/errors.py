"""The errors of requests, with a class that a program can ask for and PostgreSQL's code."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.text.similar import perhaps
from expressions import errors

Json = dict[str, Any]

CLASSES = {
    errors.UNDEFINED_TABLE: "UnknownTableError",
    errors.UNDEFINED_COLUMN: "UnknownFieldError",
    errors.UNIQUE_VIOLATION: "DuplicateKeyError",
    errors.SERIALIZATION_FAILURE: "ConflictError",
    errors.DEADLOCK: "ConflictError",
    errors.TRANSACTION_UNKNOWN: "UnknownOutcomeError",
    errors.FEATURE_NOT_SUPPORTED: "NotSupportedError",
    errors.CONNECTION_FAILURE: "StorageError",
    errors.DATATYPE_MISMATCH: "ValueError",
}
BY_PREFIX = {"22": "ValueError", "23": "ConstraintError", "42": "RequestError", "54": "LimitError", "53": "LimitError"}

NAME_CHARS_MAX = 63


@dataclass(eq=False)
class RequestError(errors.SqlError):
    """A mistake of the request, or what became of it on its way; `kind` is its class."""

    kind: str = "RequestError"


def named(name: str) -> str:
    """A name that a client gave, as a message repeats it: no more of it than a name can be long."""
    return name if len(name) <= NAME_CHARS_MAX else f"{name[:NAME_CHARS_MAX]}.."


def bad_request(message: str, *, hint: str | None = None) -> RequestError:
    return RequestError(errors.INVALID_PARAMETER_VALUE, message, hint=hint)


def bad_option(message: str, *, hint: str | None = None) -> RequestError:
    return RequestError(errors.INVALID_PARAMETER_VALUE, message, hint=hint, kind="OptionsError")


def bad_row(message: str) -> RequestError:
    """A row, key or condition that does not fit the version of the table: another version may have it."""
    return RequestError(errors.INVALID_TEXT, message, kind="FlattenError")


def unknown_field(message: str, *, hint: str | None = None) -> RequestError:
    return RequestError(errors.UNDEFINED_COLUMN, message, hint=hint, kind=CLASSES[errors.UNDEFINED_COLUMN])


def unknown_index(message: str) -> RequestError:
    return RequestError(errors.UNDEFINED_OBJECT, message, kind="UnknownIndexError")


def bad_bucket(message: str, *, hint: str | None = None) -> RequestError:
    return RequestError(errors.INVALID_PARAMETER_VALUE, message, hint=hint, kind="BucketError")


def too_late(timeout_s: float, phase: str) -> RequestError:
    return RequestError(
        errors.QUERY_CANCELED, f"the request's {timeout_s:g} s were over while {phase}", kind="TimeoutError"
    )


def unknown_table(table: str, met: Iterable[str]) -> RequestError:
    """`met` are names of tables that there are, or were a moment ago: one of them may have been meant."""
    message, hint = f'relation "{named(table)}" does not exist', perhaps("table", table, met)
    return RequestError(errors.UNDEFINED_TABLE, message, hint=hint, kind="UnknownTableError")


def mismatch(version: int, refusal: str, why_no_retry: str) -> RequestError:
    """The storage refused the version that the request was planned with, and its one retry is spent or impossible."""
    return RequestError(
        errors.SERIALIZATION_FAILURE,
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
    return RequestError(errors.INVALID_TEXT, message, hint=hint, kind=kind)


def reload_failed(cause: str) -> RequestError:
    return RequestError(errors.CONNECTION_FAILURE, f"the schema could not be loaded again: {cause}", kind="ReloadError")


def error_json(error: errors.SqlError, table: str | None, version: int | None) -> Json:
    usual = CLASSES.get(error.sqlstate) or BY_PREFIX.get(error.sqlstate[:2], "StorageError")
    kind = error.kind if isinstance(error, RequestError) else usual
    found: Json = {"class": kind, "message": error.message, "code": error.sqlstate}
    found |= {"table": error.table or table, "version": version}
    found |= {"column": error.column, "constraint": error.constraint, "detail": error.detail, "hint": error.hint}
    return {name: value for name, value in found.items() if value is not None}
