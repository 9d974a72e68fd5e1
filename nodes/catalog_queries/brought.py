"""Relations whose rows a node brings along: of its sessions, of itself, of the cluster, of the user who asks. It knows
them better, or a server would show others. Relations that describe the server are empty here."""

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from catalog.text.sql_names import literal
from nodes.catalog_views import fixed, own
from nodes.catalog_views.relations import RELATIONS
from nodes.context import Environment
from nodes.session.functions.values import SessionValues
from storage.shadow.alters import OWNER
from storage.shadow.own_views import SCHEMA as OWN_SCHEMA

OWNER_OID = 10
"""Of the owner of everything, in rows that are made here; at the shadow it is the oid of a role."""
EMPTY = frozenset({
    "pg_group", "pg_auth_members", "pg_file_settings", "pg_db_role_setting", "pg_shdescription", "pg_shdepend",
    "pg_shseclabel", "pg_subscription", "pg_parameter_acl", "pg_available_extensions",
    "pg_available_extension_versions", "pg_replication_origin", "pg_prepared_xacts",
})  # fmt: skip
OWNED = {"pg_roles": "oid", "pg_user": "usesysid", "pg_database": "datdba", "pg_stat_activity": "usesysid",
         "pg_tablespace": "spcowner"}  # fmt: skip
"""The column with the oid of an owner."""


async def rows_of(env: Environment, known: SessionValues, relation: str) -> list[dict[str, Any]] | None:
    """The rows of a relation; None for one that the shadow has itself."""
    if relation in EMPTY:
        return []
    of_session = known.rows_of(relation)
    if of_session is not None:
        return of_session
    if relation in fixed.MADE:
        return [dict(row) for row in fixed.MADE[relation](known["user"])]
    if relation in own.ASKED:
        return await env.directory.rows(own.ASKED[relation])
    if relation == own.ELEMENTS:
        return [dict(row) for row in own.element_rows(await env.directory.tables())]
    return None


def as_rows(relation: str, rows: Iterable[Mapping[str, Any]]) -> str:
    kind = relation if "." in relation else f"pg_catalog.{relation}"
    text = literal(json.dumps(list(rows), default=_shown))
    made = f"pg_catalog.jsonb_populate_recordset(NULL::{kind}, {text})"
    owner = OWNED.get(relation)
    if owner is None:
        return f"SELECT * FROM {made}"
    shown = f"CASE {owner} WHEN {OWNER_OID} THEN pg_catalog.to_regrole('{OWNER}')::pg_catalog.oid ELSE {owner} END"
    return f"SELECT {', '.join(_selected(relation, {owner: shown}))} FROM {made}"


def _selected(relation: str, otherwise: Mapping[str, str]) -> Sequence[str]:
    return [f'{otherwise[name]} AS "{name}"' if name in otherwise else f'"{name}"' for name in RELATIONS[relation]]


def _shown(value: Any) -> str:
    if isinstance(value, (dt.datetime, dt.date)):
        return value.isoformat()
    raise TypeError(f"no JSON of {value!r}")


# --- relations of the shadow that say something of the server, or count what nobody counts

OWNERS = {"pg_tables": "tableowner", "pg_views": "viewowner", "pg_sequences": "sequenceowner",
          "pg_matviews": "matviewowner"}  # fmt: skip
ROLES = ("grantor", "grantee", "schema_owner", "role_name")


_NO = "'NO'::information_schema.yes_or_no"
_IS_VIEW = (
    "EXISTS (SELECT FROM pg_catalog.pg_views v WHERE v.schemaname = x.table_schema AND v.viewname = x.table_name)"
)
READ_ONLY_VIEWS = {
    "information_schema.tables": {
        "is_insertable_into": f"CASE table_type WHEN 'VIEW' THEN {_NO} ELSE is_insertable_into END"
    },
    "information_schema.columns": {"is_updatable": f"CASE WHEN {_IS_VIEW} THEN {_NO} ELSE is_updatable END"},
    "information_schema.views": dict.fromkeys(("is_updatable", "is_insertable_into"), _NO),
}
"""Nothing is written through a view here, also where PostgreSQL would."""


def of_shadow(relation: str, database: str, owner: str) -> str | None:
    """A query in place of a relation of the shadow, where its rows have to say something else; None: as it is."""
    if relation.startswith("information_schema."):
        return _of_standard(relation, database, owner)
    column = OWNERS.get(relation)
    if column is not None:
        columns = _selected(relation, {column: f"'{owner}'::pg_catalog.name"})
        return f"SELECT {', '.join(columns)} FROM pg_catalog.{relation} WHERE schemaname <> '{OWN_SCHEMA}'"
    return _counted(relation) if relation.startswith("pg_stat") and relation in RELATIONS else None


def _of_standard(relation: str, database: str, owner: str) -> str:
    """The name of the database, and that of who owns everything, are the cluster's."""
    otherwise = dict(READ_ONLY_VIEWS.get(relation, {}))
    for column in RELATIONS.get(relation, ()):
        kind = "::information_schema.sql_identifier"
        if column.endswith("_catalog") or column == "catalog_name":
            otherwise[column] = f"CASE WHEN \"{column}\" IS NOT NULL THEN '{database}'{kind} END"
        elif column in ROLES:
            otherwise[column] = f"CASE WHEN \"{column}\" = '{OWNER}' THEN '{owner}'{kind} ELSE \"{column}\" END"
    return (
        f"SELECT {', '.join(_selected(relation, otherwise))} FROM {relation} AS x" if otherwise else f"TABLE {relation}"
    )


def _counted(relation: str) -> str | None:
    """Tables or indexes by name, without numbers that were not counted."""
    columns = RELATIONS[relation]
    if "relname" not in columns:
        return None
    tables = "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    named = "'relid', c.oid, 'schemaname', n.nspname, 'relname', c.relname"
    if "indexrelid" in columns:
        tables += " JOIN pg_catalog.pg_index x ON x.indrelid = c.oid JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid"
        named += ", 'indexrelid', i.oid, 'indexrelname', i.relname"
    rows = (
        f"SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object({named})), '[]') FROM {tables}"
        " WHERE n.nspname = 'public' AND c.relkind = 'r'"
    )
    return f"SELECT * FROM pg_catalog.jsonb_populate_recordset(NULL::pg_catalog.{relation}, ({rows}))"
