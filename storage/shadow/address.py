"""Where the shadow is: beside the store, with `_shadow` behind its name, or where `SHADOW_DATABASE_URL` says."""

from psycopg.conninfo import conninfo_to_dict, make_conninfo

NAME_BYTES_MAX = 63
ENDING = "_shadow"


def address_of(store: str, chosen: str = "") -> str:
    """The shadow of the store at this address: the one that was chosen, or the one beside it."""
    if chosen:
        return chosen
    name = str(conninfo_to_dict(store).get("dbname") or "")
    kept = name.encode()[: NAME_BYTES_MAX - len(ENDING)].decode(errors="ignore")
    return make_conninfo(store, dbname=f"{kept}{ENDING}")


def name_of(address: str) -> str:
    return str(conninfo_to_dict(address).get("dbname"))
