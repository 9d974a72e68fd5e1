-- L3. No row: the table may not be leased (lease_refusal says why). Of a table with coordination = 'hash' the newest
-- version is answered without a lease.
CREATE OR REPLACE FUNCTION lease_acquire(p_table int, p_node text, p_incarnation bigint, p_duration_s float8)
RETURNS TABLE (version int, body jsonb, schema_hash text, sharding_hash text,
               expires_at timestamptz, remaining_s float8)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_is_drain_asked boolean;
    v_version int;
    v_has_leases boolean;
    v_expires_at timestamptz;
BEGIN
    PERFORM lease_assert_read_committed();

    SELECT n.is_drain_asked INTO v_is_drain_asked
    FROM leases_node n WHERE n.name = p_node AND n.incarnation = p_incarnation FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'incarnation % of node % is not the current one: it gets no lease', p_incarnation, p_node
            USING ERRCODE = 'SL101', HINT = 'A node registers when it starts and serves under that incarnation only.';
    ELSIF v_is_drain_asked THEN
        RAISE EXCEPTION 'node % is draining: it gets no new lease', p_node
            USING ERRCODE = 'SL102', HINT = 'Use another node, or undrain this one.';
    END IF;

    -- Waits for a publisher that is just committing; a publisher that comes now finds the row locked.
    PERFORM FROM catalog_table t WHERE t.id = p_table FOR SHARE;
    IF lease_refusal(p_table) IS NOT NULL THEN
        RETURN;
    END IF;

    -- A next statement, hence a next snapshot: the newest version there is, and none can follow until we commit.
    SELECT d.version, d.body ->> 'coordination' <> 'hash' INTO STRICT v_version, v_has_leases
    FROM catalog_descriptor d WHERE d.table_id = p_table ORDER BY d.version DESC LIMIT 1;

    -- Without leases the version is told and nothing is kept: the fence alone says when it is over (requests.md). The
    -- expiration is that of a transaction which begins now.
    IF NOT v_has_leases THEN
        v_expires_at := lease_expiration(p_duration_s);
    ELSE
        -- An expired lease is never extended (L5): what follows is a new one.
        DELETE FROM leases_lease l
        WHERE l.table_id = p_table AND l.version = v_version AND l.node = p_node AND l.incarnation = p_incarnation
          AND l.expires_at <= clock_timestamp();

        -- The jitter only shortens, so that a duration is also the longest wait for a lease's end. One held already
        -- never shrinks: transactions run under the expiration they were told.
        INSERT INTO leases_lease AS held (table_id, version, node, incarnation, expires_at)
        VALUES (p_table, v_version, p_node, p_incarnation, lease_expiration(p_duration_s))
        ON CONFLICT (table_id, version, node, incarnation)
            DO UPDATE SET expires_at = greatest(held.expires_at, excluded.expires_at)
        RETURNING held.expires_at INTO v_expires_at;
        PERFORM pg_notify('schemalab_lease', p_table::text);
    END IF;

    RETURN QUERY
    SELECT d.version, d.body, d.schema_hash::text, d.sharding_hash::text, v_expires_at, lease_remaining(v_expires_at)
    FROM catalog_descriptor d WHERE d.table_id = p_table AND d.version = v_version;
END $$;
