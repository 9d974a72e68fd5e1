-- Storage 1 and its door; `storage_make_schema` makes the others like it.
-- The order in `enter` is the rule (T2): lock, fence as of now, version as of the snapshot, deadline. It is in every
-- statement of every client, so nothing in it is a query where an expression does: a PERFORM is one.
-- It runs as its owner, with names that no temporary object can take.

CREATE SCHEMA storage_1;
CREATE TABLE storage_1.versions (
    table_id int NOT NULL,
    version int NOT NULL,
    schema_hash text NOT NULL,
    sharding_hash text NOT NULL,
    PRIMARY KEY (table_id, version)
);

CREATE FUNCTION storage_1.enter(
    p_table int, p_version int, p_schema_hash text, p_sharding_hash text, p_expires_at timestamptz
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    fence bigint;
    known record;
    left_ms float8;
    armed text;
BEGIN
    fence := CASE WHEN pg_advisory_xact_lock_shared(p_table, p_version) IS NOT NULL
        THEN pg_sequence_last_value(to_regclass('storage_1.fence_' || p_table)) END;
    IF p_version < fence THEN
        RAISE EXCEPTION 'version % of table % is below the fence: storage_1 accepts version % and newer',
            p_version, p_table, fence
            USING ERRCODE = 'SL001', HINT = 'take a lease on a newer version, then try again';
    END IF;
    SELECT v.schema_hash, v.sharding_hash INTO known
        FROM storage_1.versions v WHERE v.table_id = p_table AND v.version = p_version;
    IF NOT FOUND OR fence IS NULL THEN
        RAISE EXCEPTION 'version % of table % is not in this transaction''s snapshot of storage_1', p_version, p_table
            USING ERRCODE = 'SL002', HINT = 'begin a new transaction, or use an older version that is still leased';
    END IF;
    IF p_schema_hash <> known.schema_hash THEN
        RAISE EXCEPTION 'version % of table %: the schema hash is not the one storage_1 knows', p_version, p_table
            USING ERRCODE = 'SL003', DETAIL = format('storage_1 has %s, the request %s', known.schema_hash, p_schema_hash),
                  HINT = 'load the schema again, then try again';
    END IF;
    IF p_sharding_hash <> known.sharding_hash THEN
        RAISE EXCEPTION 'version % of table %: the sharding hash is not the one storage_1 knows', p_version, p_table
            USING ERRCODE = 'SL003',
                  DETAIL = format('storage_1 has %s, the request %s', known.sharding_hash, p_sharding_hash),
                  HINT = 'load the sharding again, then try again';
    END IF;
    -- setting zero stops the timer, which only leaving zero starts (T4)
    armed := set_config('transaction_timeout', '0', true);
    IF p_expires_at = 'infinity' THEN
        RETURN;
    END IF;
    left_ms := floor(extract(epoch FROM p_expires_at - clock_timestamp())::float8 * 1000);
    IF left_ms IS NULL OR left_ms < 1 THEN
        RAISE EXCEPTION 'the lease ends in less than a millisecond: nothing may begin under it'
            USING ERRCODE = 'SL004', HINT = 'renew the lease, then try again';
    END IF;
    armed := set_config('transaction_timeout', least(left_ms, 2147483647)::bigint::text, true);
END $$;

-- Moves the deadline of a transaction that has entered (T4).
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
