-- Acquire and release as nodes call them: the lease first, committed, then its notification in a transaction of its own.
--
-- A commit that notifies holds one lock of the whole server until it is flushed. When a version is published all nodes
-- acquire and release at once, and each would wait for the flushes of all others. What only notifies is not flushed.
-- A notification that is lost with its session costs speed alone: who waits looks again.

CREATE PROCEDURE node_acquire(
    p_table int, p_node text, p_incarnation bigint, p_duration_s float8,
    OUT version int, OUT body jsonb, OUT schema_hash text, OUT sharding_hash text,
    OUT expires_at timestamptz, OUT remaining_s float8
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT l.version, l.body, l.schema_hash, l.sharding_hash, l.expires_at, l.remaining_s
    INTO version, body, schema_hash, sharding_hash, expires_at, remaining_s
    FROM lease_acquire(p_table, p_node, p_incarnation, p_duration_s, false) l;
    COMMIT;
    IF body ->> 'coordination' <> 'hash' THEN
        PERFORM pg_notify('schemalab_lease', p_table::text);
    END IF;
END $$;

CREATE PROCEDURE node_release(
    p_table int, p_version int, p_node text, p_incarnation bigint, OUT was_there boolean
) LANGUAGE plpgsql AS $$
BEGIN
    was_there := lease_release(p_table, p_version, p_node, p_incarnation, false);
    COMMIT;
    IF was_there THEN
        PERFORM pg_notify('schemalab_lease', p_table::text);
    END IF;
END $$;
