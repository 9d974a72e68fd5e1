"""SQL that makes the reader role, under which a node's session runs a user's text, and revokes all but its allow list.
Privileges protect the pairs, so a hole in a check of texts shows public columns only. In our own database all
privileges of PUBLIC are revoked; in a foreign one the role has those of PUBLIC, and texts are checked instead."""

from storage.reader.functions import IMMUTABLE_REFUSED, OF_THE_SERVER, STABLE, VOLATILE

READER = "schemalab_reader"

MAY_MAKE_ROLES_SQL = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
IS_HELD_SQL = f"SELECT coalesce(pg_has_role(to_regrole('{READER}'), 'SET'), false)"
"""True where the session's role may act as the reader."""
IS_CLOSED_SQL = f"SELECT NOT has_function_privilege('{READER}', 'pg_catalog.pg_sleep(float8)', 'EXECUTE')"
"""True where privileges check the functions that the reader calls: in a database of Schema Lab's own."""

MAKE_SQL = f"""
DO $do$ BEGIN
    CREATE ROLE {READER} NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- another database of this server has made it
END $do$
"""
"""The role belongs to the server, not to one database."""

GRANT_TO_SESSION_SQL = f"""
DO $do$ BEGIN
    IF NOT pg_has_role('{READER}', 'SET') AND pg_has_role('{READER}', 'SET WITH ADMIN OPTION') THEN
        EXECUTE format('GRANT {READER} TO %I WITH INHERIT FALSE, SET TRUE', current_user);
    END IF;
END $do$
"""
"""A role that has made another may not act as it until it grants that to itself."""

GRANT_TEMPORARY_SQL = f"""
DO $do$ BEGIN
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO {READER}', current_database());
END $do$
"""
"""Temporary tables, also where PUBLIC may have none: clients make them, and COPY FROM reads into one."""


def _listed(signatures: tuple[str, ...]) -> str:
    return ", ".join(f"'{signature}'" for signature in signatures)


_SIGNATURE = "p.proname || '(' || oidvectortypes(p.proargtypes) || ')'"
_OF_THE_SERVER = ", ".join(f"'{name}'::regtype::oid" for name in OF_THE_SERVER)
ALLOWED_SQL = f"""
SELECT p.oid, {_SIGNATURE} AS signature, p.prokind <> 'p' AND (
    (p.provolatile = 'i' AND NOT p.proargtypes::oid[] && ARRAY[{_OF_THE_SERVER}]
        AND {_SIGNATURE} NOT IN ({_listed(IMMUTABLE_REFUSED)}))
    OR (p.provolatile = 's' AND {_SIGNATURE} IN ({_listed(STABLE)}))
    OR (p.provolatile = 'v' AND {_SIGNATURE} IN ({_listed(VOLATILE)}))
) AS is_allowed, p.proacl, p.proowner FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
"""
"""Every function of pg_catalog: its signature, and whether the role may call it."""

FUNCTION_NAMES_SQL = f"""
SELECT p.proname, bool_and(coalesce(f.is_allowed OR f.signature = 'age(xid)', false))
FROM pg_proc p LEFT JOIN ({ALLOWED_SQL}) AS f USING (oid) WHERE pg_function_is_visible(p.oid) GROUP BY p.proname
"""
"""Names of functions, for a check of texts: a name is allowed where all of its functions are, or do no harm."""

_GRANTED = "SELECT 1 FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl WHERE acl.grantee ="
ALLOW_FUNCTIONS_SQL = f"""
DO $do$ DECLARE
    routine record;
BEGIN
    FOR routine IN SELECT oid::regprocedure AS name, is_allowed FROM ({ALLOWED_SQL}) AS f
        WHERE EXISTS ({_GRANTED} 0) OR is_allowed <> EXISTS ({_GRANTED} '{READER}'::regrole)
    LOOP
        EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC, {READER}', routine.name);
        IF routine.is_allowed THEN
            EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO {READER}', routine.name);
        END IF;
    END LOOP;
END $do$
"""
"""Changes only what differs from the list: nothing, at every start but the first after an update."""

CLOSE_SQL = """
DO $do$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_class c, aclexplode(c.relacl) AS acl WHERE acl.grantee = 0
        AND c.relnamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)) THEN
        REVOKE ALL ON ALL TABLES IN SCHEMA pg_catalog, information_schema FROM PUBLIC;
    END IF;
    REVOKE ALL ON SCHEMA public, information_schema FROM PUBLIC;
    REVOKE ALL ON LANGUAGE plpgsql, sql FROM PUBLIC;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
END $do$
"""
"""Of relations, languages and schemas the role has what it is granted by name."""

IN_ANY_DATABASE = (MAKE_SQL, GRANT_TO_SESSION_SQL, GRANT_TEMPORARY_SQL)
IN_OUR_DATABASE = (*IN_ANY_DATABASE, ALLOW_FUNCTIONS_SQL, CLOSE_SQL)
