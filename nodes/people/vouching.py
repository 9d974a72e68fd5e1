"""Vouching: processes of the cluster sign in at a node for a person, as the page does for its reader. A password that
only processes with the cluster's SECRET_KEY can make proves that the cluster vouches (`-c schemalab.vouched=on`)."""

import base64
import hmac

VOUCHED = "schemalab.vouched"


def cluster_password(secret_key: str, name: str) -> str:
    """The proof to a node that the cluster vouches for this name."""
    return base64.urlsafe_b64encode(hmac.digest(secret_key.encode(), b"node " + name.encode(), "sha256")).decode()


def vouched_parameters(secret_key: str, name: str) -> dict[str, str]:
    return {"user": name, "password": cluster_password(secret_key, name), "options": f"-c {VOUCHED}=on"}


def vouched_address(secret_key: str, host: str, port: int, *, name: str, application_name: str) -> dict[str, str | int]:
    """Parameters of libpq for a connection of the cluster's own to a node, as `name`."""
    return {
        "host": host,
        "port": port,
        "dbname": "schemalab",
        "application_name": application_name,
        "sslmode": "disable",
        **vouched_parameters(secret_key, name),
    }


def is_vouched(options: dict[str, str]) -> bool:
    return options.get(VOUCHED) == "on"
