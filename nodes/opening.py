"""The beginning of a session: what a client may ask for when it connects."""

from expressions.errors import FEATURE_NOT_SUPPORTED, INVALID_CATALOG_NAME, FatalError, SqlError
from nodes.environment import Environment
from nodes.session import Client, Session
from nodes.session_values import DATABASE
from nodes.variables import Variables


def open_session(env: Environment, client: Client, parameters: dict[str, str]) -> Session:
    """The session of a client that has just connected. Raises `FatalError` for what it asked wrongly."""
    user = parameters["user"]
    database = parameters.get("database") or user
    if database != DATABASE:
        raise FatalError(INVALID_CATALOG_NAME, f'database "{database}" does not exist: a node has one, "{DATABASE}"')
    if parameters.get("replication", "false") not in ("false", "off", "0", "no"):
        raise FatalError(FEATURE_NOT_SUPPORTED, "replication connections are not supported")
    variables = Variables()
    variables.initial["session_authorization"] = variables.values["session_authorization"] = user
    variables.initial["schemalab.node"] = variables.values["schemalab.node"] = env.node
    try:
        for name, value in {**parameters, **_options(parameters.get("options", ""))}.items():
            if name not in ("user", "database", "options", "replication") and not name.startswith("_pq_."):
                variables.start_with(name, value)
    except SqlError as error:
        raise FatalError(error.sqlstate, error.message) from None
    return Session(env, client, user, variables)


def _options(text: str) -> dict[str, str]:
    """Settings in the startup parameter `options`: -c name=value .."""
    words = text.replace("-c ", "-c").split()
    given = [w.removeprefix("-c").removeprefix("--") for w in words]
    return {name: value for name, _, value in (g.partition("=") for g in given) if value}
