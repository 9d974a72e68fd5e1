"""Rows about people and the server, of which a node tells what its clients may know: one role, one database."""

from collections.abc import Callable, Iterator, Mapping

Value = int | float | str | bool | tuple[int, ...] | tuple[str, ...] | None
Row = Mapping[str, Value]

OWNER, OWNER_NAME = 10, "schemalab"
USER = 16383
"""The oid of whoever asks, if that is not the owner."""
DATABASE, DATABASE_NAME = 5, "schemalab"
TABLESPACE = 1663
UTF8 = 6


def _names(user: str) -> Iterator[tuple[int, str]]:
    yield OWNER, OWNER_NAME
    if user != OWNER_NAME:
        yield USER, user


def _roles(user: str) -> Iterator[Row]:
    for oid, name in _names(user):
        yield {
            "oid": oid, "rolname": name, "rolinherit": True, "rolcanlogin": True, "rolconnlimit": -1,
            "rolpassword": "********", "rolsuper": False, "rolcreaterole": False, "rolcreatedb": False,
            "rolreplication": False, "rolbypassrls": False,
        }  # fmt: skip


def _users(user: str) -> Iterator[Row]:
    for oid, name in _names(user):
        never = {"usecreatedb": False, "usesuper": False, "userepl": False, "usebypassrls": False}
        yield {"usename": name, "usesysid": oid, "passwd": "********", **never}


def _databases(_: str) -> Iterator[Row]:
    yield {
        "oid": DATABASE, "datname": DATABASE_NAME, "datdba": OWNER, "encoding": UTF8, "datlocprovider": "c",
        "datallowconn": True, "datconnlimit": -1, "dattablespace": TABLESPACE, "datcollate": "C", "datctype": "C",
        "datistemplate": False, "dathasloginevt": False, "datfrozenxid": 0, "datminmxid": 0,
    }  # fmt: skip


def _tablespaces(_: str) -> Iterator[Row]:
    for oid, name in ((TABLESPACE, "pg_default"), (TABLESPACE + 1, "pg_global")):
        yield {"oid": oid, "spcname": name, "spcowner": OWNER}


MADE: dict[str, Callable[[str], Iterator[Row]]] = {
    "pg_roles": _roles, "pg_user": _users, "pg_database": _databases, "pg_tablespace": _tablespaces,
}  # fmt: skip
"""Each is given the user who asks."""
