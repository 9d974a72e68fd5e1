"""The beginning of a session: what a client may ask for when it connects."""

from dataclasses import dataclass

from expressions.errors import FEATURE_NOT_SUPPORTED, INVALID_CATALOG_NAME, FatalError, SqlError
from nodes.clients.protocols import Client
from nodes.context import Environment
from nodes.people.rights import Person
from nodes.people.vouching import VOUCHED
from nodes.session import dumps
from nodes.session.functions.values import DATABASE
from nodes.session.session import Session
from nodes.settings.options import options_of
from nodes.settings.variables import Variables

NOT_SETTINGS = ("user", "database", "options", "replication", VOUCHED)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a session unless it sets others; 0 seconds: no limit."""

    sessions_max_each: int = 200
    statement_s: float = 0.0
    idle_in_transaction_s: float = 0.0


NO_LIMITS = Limits()


def open_session(
    env: Environment, client: Client, person: Person, parameters: dict[str, str], limits: Limits = NO_LIMITS
) -> Session:
    """The session of a client that has just connected. Raises `FatalError` for what it asked wrongly."""
    user = parameters["user"]
    program = parameters.get("application_name")
    if program in dumps.PROGRAMS:
        sqlstate, message, hint = dumps.refusal(program)
        raise FatalError(sqlstate, message, hint=hint)
    database = parameters.get("database") or user
    if database != DATABASE:
        raise FatalError(INVALID_CATALOG_NAME, f'database "{database}" does not exist: a node has one, "{DATABASE}"')
    if parameters.get("replication", "false") not in ("false", "off", "0", "no"):
        raise FatalError(FEATURE_NOT_SUPPORTED, "replication connections are not supported")
    variables = Variables()
    idle, timeout = round(limits.idle_in_transaction_s * 1000), round(limits.statement_s * 1000)
    times = {"statement_timeout": str(timeout), "idle_in_transaction_session_timeout": str(idle)}
    variables.begin_with({"session_authorization": user, "schemalab.node": env.node, **times})
    try:
        for name, value in {**options_of(parameters), **parameters}.items():
            if name not in NOT_SETTINGS and not name.startswith("_pq_."):
                variables.start_with(name, value)
    except SqlError as error:
        raise FatalError(error.sqlstate, error.message, detail=error.detail, hint=error.hint) from None
    return Session(env, client, user, variables, person)
