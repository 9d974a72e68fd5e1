"""A step that is tried with a client, and its outcome: one line of JSON on standard output.

{"client": "psycopg", "version": "3.3.9"}
{"tried": "COPY in and out", "outcome": "works"}
{"tried": "a cursor of the server", "outcome": "fails", "sqlstate": "0A000", "message": "..", "hint": ".."}
"""

import json
import os
import sys
from collections.abc import Callable

HOST, PORT = os.environ["PGHOST"], int(os.environ["PGPORT"])
USER, DATABASE = os.environ["PGUSER"], os.environ["PGDATABASE"]
URL = f"postgresql://{USER}@{HOST}:{PORT}/{DATABASE}"

Step = Callable[[], object]
STEPS: list[tuple[str, Step]] = []


def tried(what: str) -> Callable[[Step], Step]:
    """A step; its function raises when it does not work."""

    def add(step: Step) -> Step:
        STEPS.append((what, step))
        return step

    return add


def emit(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


def run(client: str, version: str) -> None:
    """Try all steps, or those named like STEP; one that fails does not keep the next one from being tried."""
    emit(client=client, version=version)
    for what, step in STEPS:
        if os.environ.get("STEP", "") not in what:
            continue
        try:
            step()
        except Exception as error:  # noqa: BLE001 - whatever it is is the outcome
            emit(tried=what, outcome="fails", **about(error))
        else:
            emit(tried=what, outcome="works")
    STEPS.clear()


def about(error: BaseException) -> dict[str, str]:
    """SQLSTATE, message and hint of an error, wherever its library keeps them."""
    inner = getattr(error, "orig", None) or error.__cause__ or error
    for one in (error, inner):
        fields = one.args[0] if one.args and isinstance(one.args[0], dict) else {}  # pg8000's
        diag = getattr(one, "diag", None)
        sqlstate = getattr(one, "sqlstate", None) or getattr(one, "pgcode", None) or fields.get("C")
        if sqlstate:
            message = getattr(diag, "message_primary", None) or fields.get("M") or str(one)
            hint = getattr(diag, "message_hint", None) or getattr(one, "hint", None) or fields.get("H") or ""
            return {"sqlstate": str(sqlstate), "message": str(message), "hint": str(hint)}
    return {"sqlstate": "", "message": f"{type(error).__name__}: {error}"[:300], "hint": ""}


def check(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{found!r}, not {expected!r}")


if not sys.flags.dev_mode:
    import warnings

    warnings.simplefilter("ignore")
