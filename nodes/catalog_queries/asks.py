"""Does a statement ask the catalog, and of what else does it speak? From its tree. Pure. The catalog's relations,
functions and names (`'flights'::regclass`) count; `version()` needs only the session. A statement over the catalog and
over rows is refused, as the shadow's tables are empty."""

from dataclasses import dataclass
from typing import Any

from expressions.errors import SqlError, unsupported
from nodes.catalog_views.relations import RELATIONS
from nodes.sql.admission import REG_TYPES
from nodes.sql.edits import nodes_in_scope

Node = Any

CATALOG, INFORMATION, OWN = "pg_catalog", "information_schema", "schemalab"
FUNCTIONS = frozenset({
    "obj_description", "col_description", "shobj_description", "pg_has_role", "aclexplode",
    "acldefault", "pg_describe_object", "pg_identify_object", "pg_identify_object_as_address",
    "pg_index_column_has_property", "pg_index_has_property", "pg_indexam_has_property", "pg_relation_is_updatable",
    "pg_column_is_updatable", "pg_relation_is_publishable", "pg_encoding_to_char", "pg_char_to_encoding",
    "pg_options_to_table", "pg_partition_tree", "pg_partition_ancestors", "pg_partition_root",
    "pg_sequence_parameters", "pg_sequence_last_value", "pg_relation_size", "pg_table_size",
    "pg_total_relation_size", "pg_indexes_size", "pg_database_size", "pg_tablespace_size", "pg_relation_filenode",
    "pg_show_all_settings", "pg_lock_status", "pg_cursor", "pg_prepared_statement", "pg_available_extensions",
    "pg_my_temp_schema", "pg_is_other_temp_schema", "pg_tablespace_location",
    "pg_stat_get_live_tuples", "pg_stat_get_dead_tuples", "pg_stat_get_numscans",
})  # fmt: skip
HARMLESS = frozenset({"format_type"})
"""Functions that a node has itself, beside rows."""
BEGINNINGS, ENDINGS = ("pg_get_", "has_", "to_reg"), ("_is_visible", "_privilege")


@dataclass(frozen=True, slots=True)
class Asks:
    """The names in a statement: relations of the catalog, functions and names of it, and tables or views."""

    relations: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    tables: tuple[tuple[str, int], ...] = ()
    """Names with their places."""

    @property
    def is_of_catalog(self) -> bool:
        return bool(self.relations) or bool(self.functions and not self.tables)

    def refuse_both(self) -> None:
        """Raises 0A000 for a statement over the catalog and over rows."""
        if self.tables and (self.relations or self.functions - HARMLESS):
            name, location = self.tables[0]
            asked = f"the catalog ({min(self.relations)})" if self.relations else min(self.functions - HARMLESS)
            raise beside(asked, name, location)


def beside(asked: str, name: str, location: int = -1) -> SqlError:
    hint = "ask the catalog in a statement of its own, and give its answer to the other one"
    return unsupported(f'{asked} beside "{name}" in one statement', location, hint=hint)


NOTHING = Asks()


def asked_of(statement: Node) -> Asks:
    """The names in a SELECT; those of its WITH queries are left out where they are seen."""
    relations: set[str] = set()
    tables: list[tuple[str, int]] = []
    functions: set[str] = set()
    for node, names in nodes_in_scope(statement):
        kind = node.DESCRIPTOR.name
        if kind == "RangeVar" and (node.schemaname or node.relname not in names):
            key = key_of(node)
            if key is not None:
                relations.add(key)
            else:
                tables.append((node.relname, node.location))
        elif kind == "FuncCall":
            functions |= _of_catalog(node)
        elif kind == "TypeName":
            last = node.names[-1].string.sval if node.names else ""
            functions |= {last} if last.removeprefix("_") in REG_TYPES else set()
    return Asks(frozenset(relations), frozenset(functions), tuple(tables))


def key_of(node: Node) -> str | None:
    """The relation of the catalog that a name means; pg_catalog is searched first, as in PostgreSQL."""
    if node.schemaname in (INFORMATION, OWN):
        return f"{node.schemaname}.{node.relname}"
    if node.schemaname == CATALOG or (not node.schemaname and is_name_of_catalog(node.relname)):
        return str(node.relname)
    return None


def is_name_of_catalog(name: str) -> bool:
    return name in RELATIONS or name in MORE


MORE = frozenset({
    "pg_authid", "pg_shadow", "pg_stats", "pg_statistic", "pg_stat_database", "pg_timezone_names",
    "pg_timezone_abbrevs",
})  # fmt: skip
"""Relations of pg_catalog that are refused, with what there is instead."""


def _of_catalog(call: Node) -> set[str]:
    parts = [part.string.sval for part in call.funcname]
    if len(parts) > 1 and parts[0] not in (CATALOG, INFORMATION):
        return set()
    name = parts[-1]
    known = FUNCTIONS | HARMLESS
    is_one = parts[0] == INFORMATION or name in known or name.startswith(BEGINNINGS) or name.endswith(ENDINGS)
    return {name} if is_one else set()
