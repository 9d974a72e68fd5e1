"""`SqlError`: every failure that a user can cause or meet leaves a node as one, with an SQLSTATE. Its place is a byte
offset into the statement, as the parser counts; messages show characters (`position_of`)."""

from dataclasses import dataclass

SYNTAX_ERROR = "42601"
UNDEFINED_TABLE = "42P01"
LOCK_NOT_AVAILABLE = "55P03"
UNDEFINED_SCHEMA = "3F000"
UNDEFINED_COLUMN = "42703"
UNDEFINED_FUNCTION = "42883"
UNDEFINED_OBJECT = "42704"
UNDEFINED_PARAMETER = "42P02"
INDETERMINATE_TYPE = "42P18"
AMBIGUOUS_COLUMN = "42702"
AMBIGUOUS_FUNCTION = "42725"
DUPLICATE_COLUMN = "42701"
DATATYPE_MISMATCH = "42804"
CANNOT_COERCE = "42846"
INVALID_COLUMN_REFERENCE = "42P10"
INVALID_NAME = "42602"
INVALID_STATEMENT_NAME = "26000"
INVALID_CURSOR_NAME = "34000"
FEATURE_NOT_SUPPORTED = "0A000"
PROTOCOL_VIOLATION = "08P01"
TRANSACTION_UNKNOWN = "08007"
CONNECTION_FAILURE = "08006"
WRONG_PASSWORD = "28P01"  # noqa: S105
INVALID_AUTHORIZATION = "28000"
INSUFFICIENT_PRIVILEGE = "42501"
INVALID_CATALOG_NAME = "3D000"
IN_FAILED_TRANSACTION = "25P02"
ACTIVE_TRANSACTION = "25001"
NO_ACTIVE_TRANSACTION = "25P01"
READ_ONLY_TRANSACTION = "25006"
INVALID_SAVEPOINT = "3B001"
SERIALIZATION_FAILURE = "40001"
DEADLOCK = "40P01"
TRANSACTION_TIMEOUT = "25P04"
QUERY_CANCELED = "57014"
ADMIN_SHUTDOWN = "57P01"
CANNOT_CONNECT_NOW = "57P03"
NOT_NULL_VIOLATION = "23502"
RESTRICT_VIOLATION = "23001"
FOREIGN_KEY_VIOLATION = "23503"
UNIQUE_VIOLATION = "23505"
CHECK_VIOLATION = "23514"
DIVISION_BY_ZERO = "22012"
NUMBER_OUT_OF_RANGE = "22003"
SEQUENCE_LIMIT = "2200H"
DATETIME_OUT_OF_RANGE = "22008"
NULL_NOT_ALLOWED = "22004"
INVALID_TEXT = "22P02"
BAD_CHARACTER = "22021"
INVALID_BINARY = "22P03"
INVALID_PARAMETER_VALUE = "22023"
SUBSCRIPT_ERROR = "2202E"
CARDINALITY_VIOLATION = "21000"
PROGRAM_LIMIT = "54000"
STATEMENT_TOO_COMPLEX = "54001"
TOO_MANY_COLUMNS = "54011"
OUT_OF_MEMORY = "53200"
TOO_MANY_CONNECTIONS = "53300"
NOT_IN_PREREQUISITE_STATE = "55000"
OBJECT_IN_USE = "55006"
WRONG_OBJECT_TYPE = "42809"
INTERNAL_ERROR = "XX000"

FENCE_REFUSALS = frozenset({"SL001", "SL002", "SL003", "SL004"})
"""`enter` refused: below the fence, not visible in the snapshot, other hash, lease (nearly) over."""


@dataclass(eq=False)
class SqlError(Exception):
    """A failed statement. `offset` counts bytes of the statement's text; -1 when no place is to blame."""

    sqlstate: str
    message: str
    offset: int = -1
    detail: str | None = None
    hint: str | None = None
    table: str | None = None
    column: str | None = None
    constraint: str | None = None
    severity: str = "ERROR"
    routine: str | None = None
    where: str | None = None
    """The place in the data that a statement was given."""

    def __str__(self) -> str:
        return self.message


class FatalError(SqlError):
    """An error that ends the connection."""

    def __init__(self, sqlstate: str, message: str, **fields: str | None) -> None:
        super().__init__(sqlstate, message, severity="FATAL", **fields)  # type: ignore[arg-type]


def unsupported(what: str, offset: int = -1, hint: str | None = None) -> SqlError:
    """The refusal, by name, of something PostgreSQL has and a node has not."""
    return SqlError(FEATURE_NOT_SUPPORTED, f"{what} is not supported", offset, hint=hint)


def position_of(sql: str, offset: int) -> int | None:
    """The 1-based character position of a byte offset in `sql`; None when there is none."""
    if offset < 0:
        return None
    return len(sql.encode()[:offset].decode(errors="ignore")) + 1
