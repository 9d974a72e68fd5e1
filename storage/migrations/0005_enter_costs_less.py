"""`enter` as before, without a query where an expression does: it is in every statement of every client.

A PERFORM is a query of its own, and so is the call of another function; an expression is neither. The order is the
rule all the same (T2): lock, fence as of now, version as of the snapshot, deadline.
"""

from importlib import import_module

from django.db import migrations

BEFORE = import_module("storage.migrations.0001_storages_enter_and_spare_tables").STORAGE

HEAD = """
CREATE OR REPLACE FUNCTION {schema}.enter(
    p_table int, p_version int, p_schema_hash text, p_sharding_hash text, p_expires_at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$"""
BODY = """
DECLARE
    fence bigint;
    known record;
    left_ms float8;
    armed text;
BEGIN
    fence := CASE WHEN pg_advisory_xact_lock_shared(p_table, p_version) IS NOT NULL
        THEN pg_sequence_last_value(to_regclass('{schema}.fence_' || p_table)) END;
    IF p_version < fence THEN
        RAISE EXCEPTION 'version % of table % is below the fence: {schema} accepts version % and newer',
            p_version, p_table, fence
            USING ERRCODE = 'SL001', HINT = 'take a lease on a newer version, then try again';
    END IF;
    SELECT v.schema_hash, v.sharding_hash INTO known
        FROM {schema}.versions v WHERE v.table_id = p_table AND v.version = p_version;
    IF NOT FOUND OR fence IS NULL THEN
        RAISE EXCEPTION 'version % of table % is not in this transaction''s snapshot of {schema}', p_version, p_table
            USING ERRCODE = 'SL002', HINT = 'begin a new transaction, or use an older version that is still leased';
    END IF;
    IF p_schema_hash <> known.schema_hash THEN
        RAISE EXCEPTION 'version % of table %: the schema hash is not the one {schema} knows', p_version, p_table
            USING ERRCODE = 'SL003', DETAIL = format('{schema} has %s, the request %s', known.schema_hash, p_schema_hash),
                  HINT = 'load the schema again, then try again';
    END IF;
    IF p_sharding_hash <> known.sharding_hash THEN
        RAISE EXCEPTION 'version % of table %: the sharding hash is not the one {schema} knows', p_version, p_table
            USING ERRCODE = 'SL003',
                  DETAIL = format('{schema} has %s, the request %s', known.sharding_hash, p_sharding_hash),
                  HINT = 'load the sharding again, then try again';
    END IF;
    left_ms := floor(extract(epoch FROM p_expires_at - clock_timestamp())::float8 * 1000);
    IF left_ms IS NULL OR left_ms < 1 THEN
        RAISE EXCEPTION 'the lease ends in less than a millisecond: nothing may begin under it'
            USING ERRCODE = 'SL004', HINT = 'renew the lease, then try again';
    END IF;
    -- the timer starts only when the setting leaves zero (T4), where it is in a transaction that has not entered yet
    IF current_setting('transaction_timeout') <> '0' THEN
        armed := set_config('transaction_timeout', '0', true);
    END IF;
    armed := set_config('transaction_timeout', least(left_ms, 2147483647)::bigint::text, true);
END $$;
"""
EACH = """
DO $do$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT nspname FROM pg_namespace WHERE nspname ~ '^storage_[0-9]+$' LOOP
        EXECUTE replace($sql${function}$sql$, '{schema}', name);
    END LOOP;
END $do$;
"""


def on_each_storage(function):
    return EACH.replace("{function}", function)


class Migration(migrations.Migration):
    dependencies = [("storage", "0004_storages_can_be_added")]

    operations = [
        migrations.RunSQL(
            on_each_storage(HEAD + BODY),
            on_each_storage(HEAD + BEFORE.partition("RETURNS void LANGUAGE plpgsql AS $$")[2]),
        )
    ]
