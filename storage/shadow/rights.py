"""The role of catalog queries and its rights. PUBLIC keeps immutable functions, the reader role's
(`storage.reader.functions`) and listed ones of the catalog. Functions that run a text (`query_to_xml`), change the
session (`set_config`) or act on others (`pg_advisory_lock`) are revoked, as are relations about the whole server, whose
rows a node adds."""

from storage.reader.role import ALLOWED_SQL
from storage.shadow.alters import OWNER
from storage.shadow.own_views import own_views_sql

SETUP = 1
"""Grows with each change of what is made here: the next start then makes it so."""

_NAMED = """
pg_get_constraintdef pg_get_expr pg_get_functiondef pg_get_function_arguments pg_get_function_arg_default
pg_get_function_identity_arguments pg_get_function_result pg_get_function_sqlbody pg_get_indexdef pg_get_keywords
pg_get_partkeydef pg_get_partition_constraintdef pg_get_publication_tables pg_get_replica_identity_index
pg_get_ruledef pg_get_serial_sequence pg_get_statisticsobjdef pg_get_statisticsobjdef_columns
pg_get_statisticsobjdef_expressions pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_get_object_address
pg_get_catalog_foreign_keys pg_has_role pg_describe_object pg_identify_object pg_identify_object_as_address
pg_index_column_has_property pg_index_has_property pg_indexam_has_property pg_relation_is_updatable
pg_column_is_updatable pg_relation_is_publishable pg_encoding_to_char pg_char_to_encoding pg_options_to_table
pg_partition_tree pg_partition_ancestors pg_partition_root pg_sequence_parameters pg_sequence_last_value
pg_my_temp_schema pg_is_other_temp_schema pg_collation_actual_version pg_tablespace_location pg_filenode_relation
pg_relation_filenode pg_conf_load_time pg_postmaster_start_time pg_is_in_recovery aclexplode acldefault makeaclitem
aclcontains hash_aclitem aclitemin aclitemout obj_description col_description current_schema current_schemas
current_database getdatabaseencoding pg_client_encoding age mxid_age domain_in domain_recv anyarray_out anyarray_send
array_send array_recv record_send satisfies_hash_partition current_setting regclass
pg_is_wal_replay_paused
"""
NAMES = tuple(_NAMED.split())
PATTERNS = ("has\\_%\\_privilege", "pg\\_%\\_is\\_visible", "to\\_reg%", "reg%in", "reg%out", "reg%send", "reg%recv")
HIDDEN = (
    "pg_database", "pg_roles", "pg_user", "pg_group", "pg_auth_members", "pg_settings", "pg_file_settings",
    "pg_db_role_setting", "pg_shdescription", "pg_shdepend", "pg_shseclabel", "pg_tablespace", "pg_locks",
    "pg_prepared_statements", "pg_prepared_xacts", "pg_cursors", "pg_replication_origin", "pg_subscription",
    "pg_parameter_acl", "pg_stats", "pg_stats_ext", "pg_stats_ext_exprs", "pg_available_extensions",
    "pg_available_extension_versions",
)  # fmt: skip
"""Relations that tell of the server and of sessions, beside those that begin with `pg_stat`."""

MAKE_ROLE_SQL = f"""
DO $do$ BEGIN
    CREATE ROLE {OWNER} NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- another database of this server has made it
END $do$
"""
GRANT_TO_SESSION_SQL = f"""
DO $do$ BEGIN
    IF NOT pg_has_role('{OWNER}', 'SET') OR NOT pg_has_role('{OWNER}', 'USAGE') THEN
        EXECUTE format('GRANT {OWNER} TO %I WITH INHERIT TRUE, SET TRUE', current_user);
    END IF;
END $do$
"""
_NAMES = ", ".join(f"'{name}'" for name in NAMES)
_PATTERNS = ", ".join(f"'{pattern}'" for pattern in PATTERNS)
_HIDDEN = ", ".join(f"'{name}'" for name in HIDDEN)
ALLOW_FUNCTIONS_SQL = f"""
DO $do$ DECLARE
    routine record;
BEGIN
    FOR routine IN SELECT f.oid::regprocedure AS name FROM ({ALLOWED_SQL}) AS f JOIN pg_proc p USING (oid)
        WHERE NOT f.is_allowed AND p.proname NOT IN ({_NAMES}) AND NOT p.proname LIKE ANY (ARRAY[{_PATTERNS}])
        AND EXISTS (SELECT FROM aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) AS a WHERE a.grantee = 0)
    LOOP
        EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', routine.name);
    END LOOP;
END $do$
"""
CLOSE_SQL = f"""
DO $do$ DECLARE
    relation record;
BEGIN
    FOR relation IN SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace
        AND (relname IN ({_HIDDEN}) OR relname LIKE 'pg\\_stat%' AND relkind = 'v')
        AND EXISTS (SELECT FROM aclexplode(relacl) AS a WHERE a.grantee = 0)
    LOOP
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', relation.name);
    END LOOP;
    REVOKE ALL ON LANGUAGE plpgsql, sql FROM PUBLIC;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
END $do$
"""
SETUP_SQL = (
    MAKE_ROLE_SQL, GRANT_TO_SESSION_SQL, f"ALTER SCHEMA public OWNER TO {OWNER}", *own_views_sql(),
    ALLOW_FUNCTIONS_SQL, CLOSE_SQL,
)  # fmt: skip
