"""The shadow's address: beside the store, with suffix `_shadow`, or `SHADOW_DATABASE_URL`."""

from psycopg.conninfo import conninfo_to_dict, make_conninfo

NAME_BYTES_MAX = 63
ENDING = "_shadow"


def address_of(store: str, chosen: str = "") -> str:
    if chosen:
        return chosen
    name = str(conninfo_to_dict(store).get("dbname") or "")
    kept = name.encode()[: NAME_BYTES_MAX - len(ENDING)].decode(errors="ignore")
    return make_conninfo(store, dbname=f"{kept}{ENDING}")


def name_of(address: str) -> str:
    return str(conninfo_to_dict(address).get("dbname"))
