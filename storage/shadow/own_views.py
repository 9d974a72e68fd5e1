"""Views in schema schemalab: the versions that pages show. The shadow has their columns; a node adds rows."""

SCHEMA = "schemalab"
COLUMNS = {
    "elements": "table_name:name version:int4 element:text name:name state:text is_filling:bool detail:text",
    "versions": "table_name:name version:int4 modified_at:timestamptz is_newest:bool leases:int8",
    "leases": "table_name:name version:int4 node:text incarnation:int8 acquired_at:timestamptz expires_at:timestamptz",
    "changes": (
        "id:int8 table_name:name statement:text status:text direction:text step:int4 who:text created_at:timestamptz"
        " started_at:timestamptz ended_at:timestamptz error:text"
    ),
    "nodes": "name:text state:text incarnation:int8 heartbeat_at:timestamptz leases:int8",
}


def own_views_sql() -> list[str]:
    made = [f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}", f"GRANT USAGE ON SCHEMA {SCHEMA} TO PUBLIC"]
    for name, words in COLUMNS.items():
        columns = ", ".join(f"NULL::{kind} AS {column}" for column, kind in (w.split(":") for w in words.split()))
        made.append(f"CREATE OR REPLACE VIEW {SCHEMA}.{name} AS SELECT {columns} WHERE false")
    return made
