"""The storages: schemas, version copies, the door (`enter`), pair tables made ahead, and their fences.

A kv table bears its keys uncompressed and in short headers (STORAGE EXTERNAL), so that the longest key is the
same for every content; vacuum comes early and never truncates the table's end, which would lock writers out.
"""

from django.conf import settings
from django.db import migrations

STORAGES = range(1, settings.STORAGE_COUNT + 1)

DEADLINE = """
CREATE FUNCTION storage_arm_deadline(p_expires_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    left_ms float8 := floor(extract(epoch FROM p_expires_at - clock_timestamp()) * 1000);
BEGIN
    IF left_ms IS NULL OR left_ms < 1 THEN
        RAISE EXCEPTION 'the lease ends in less than a millisecond: nothing may begin under it'
            USING ERRCODE = 'SL004', HINT = 'renew the lease, then try again';
    END IF;
    -- the timer starts only when the setting leaves zero (T4)
    PERFORM set_config('transaction_timeout', '0', true),
            set_config('transaction_timeout', least(left_ms, 2147483647)::bigint::text, true);
END $$;
"""

# The order is the rule (T2): lock, fence as of now, version as of the snapshot, deadline.
STORAGE = """
CREATE SCHEMA {schema};
CREATE TABLE {schema}.versions (
    table_id int NOT NULL,
    version int NOT NULL,
    schema_hash text NOT NULL,
    sharding_hash text NOT NULL,
    PRIMARY KEY (table_id, version)
);
CREATE FUNCTION {schema}.enter(
    p_table int, p_version int, p_schema_hash text, p_sharding_hash text, p_expires_at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    fence bigint;
    known record;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(p_table, p_version);
    fence := pg_sequence_last_value(to_regclass('{schema}.fence_' || p_table));
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
    PERFORM storage_arm_deadline(p_expires_at);
END $$;
"""

PAIR_TABLE = """
    EXECUTE format('CREATE TABLE {schema}.kv_%s (key bytea STORAGE EXTERNAL PRIMARY KEY, value bytea) WITH ('
        'fillfactor = 90, vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05,'
        'autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05)', p_table);
    EXECUTE format('CREATE SEQUENCE {schema}.fence_%s AS bigint', p_table);
"""

SPARES = """
CREATE SEQUENCE storage_table_id AS int;
CREATE TABLE storage_spare (table_id int PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT clock_timestamp());

CREATE FUNCTION storage_make_table(p_table int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    {pair_tables}
END $$;

CREATE FUNCTION storage_make_spares(p_stock int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    missing int := p_stock - (SELECT count(*) FROM storage_spare);
    made int;
BEGIN
    FOR i IN 1 .. missing LOOP
        made := nextval('storage_table_id');
        PERFORM storage_make_table(made);
        INSERT INTO storage_spare (table_id) VALUES (made);
    END LOOP;
    RETURN greatest(missing, 0);
END $$;

CREATE FUNCTION storage_take_table() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    taken int;
BEGIN
    DELETE FROM storage_spare WHERE table_id = (
        SELECT table_id FROM storage_spare ORDER BY table_id LIMIT 1 FOR UPDATE SKIP LOCKED
    ) RETURNING table_id INTO taken;
    IF taken IS NULL THEN
        taken := nextval('storage_table_id');
        PERFORM storage_make_table(taken);
    END IF;
    RETURN taken;
END $$;
"""

DROP_SPARES = """
DROP FUNCTION storage_take_table();
DROP FUNCTION storage_make_spares(int);
DROP FUNCTION storage_make_table(int);
DROP TABLE storage_spare;
DROP SEQUENCE storage_table_id;
"""


def schema_of(number):
    return f"storage_{number}"


class Migration(migrations.Migration):
    initial = True

    operations = [
        migrations.RunSQL(DEADLINE, "DROP FUNCTION storage_arm_deadline(timestamptz);"),
        *(
            migrations.RunSQL(
                STORAGE.replace("{schema}", schema_of(number)), f"DROP SCHEMA {schema_of(number)} CASCADE;"
            )
            for number in STORAGES
        ),
        migrations.RunSQL(
            SPARES.replace(
                "{pair_tables}", "".join(PAIR_TABLE.replace("{schema}", schema_of(number)) for number in STORAGES)
            ),
            DROP_SPARES,
        ),
    ]
