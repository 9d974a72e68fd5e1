-- The lease protocol's server functions. Each is one statement of its client, run in autocommit at READ COMMITTED,
-- so that no lock ever waits for a client (L3) and every statement inside sees what was committed before it began.
-- Locks: the node's row, then the table's row, then lease rows; none of these functions writes a counter row (L14).
--
--     node row    FOR KEY SHARE  acquire       waits for register and drain, never for heartbeats
--                 FOR UPDATE     register, drain, leave
--     table row   FOR SHARE      acquire, renew (SKIP LOCKED); the publisher takes it FOR UPDATE NOWAIT
--
-- Refusals: SL101 unknown or superseded incarnation, SL102 draining node, SL103 a session that would not end.

CREATE FUNCTION lease_assert_read_committed() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- At any higher level the statement after the lock would still see the snapshot from before it.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'lease functions need read committed, this transaction is %',
            current_setting('transaction_isolation') USING ERRCODE = 'invalid_transaction_state';
    END IF;
END $$;


-- L13: which tables may be leased. Why not, or NULL when it may.
CREATE FUNCTION lease_refusal(p_table int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_name text;
    v_state text;
    v_element text;
BEGIN
    SELECT t.name, t.state INTO v_name, v_state FROM catalog_table t WHERE t.id = p_table;
    IF NOT FOUND THEN
        RETURN format('there is no table with id %s', p_table);
    ELSIF v_state = 'dropped' THEN
        RETURN format('table %s is dropped', v_name);
    END IF;
    SELECT d.body ->> 'state' INTO v_element
    FROM catalog_descriptor d WHERE d.table_id = p_table ORDER BY d.version DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN format('table %s is only reserved: it has no version yet', v_name);
    ELSIF v_element = 'absent' THEN
        RETURN format('table %s is absent', v_name);
    END IF;
    RETURN NULL;
END $$;


-- L3. No row: the table may not be leased (lease_refusal says why). Of a table with coordination = 'hash' the newest
-- version is answered without a lease.
CREATE FUNCTION lease_acquire(p_table int, p_node text, p_incarnation bigint, p_duration_s float8, p_notifies boolean DEFAULT true)
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
        IF p_notifies THEN PERFORM pg_notify('schemalab_lease', p_table::text); END IF;
    END IF;

    RETURN QUERY
    SELECT d.version, d.body, d.schema_hash::text, d.sharding_hash::text, v_expires_at, lease_remaining(v_expires_at)
    FROM catalog_descriptor d WHERE d.table_id = p_table AND d.version = v_version;
END $$;


CREATE FUNCTION lease_expiration(p_duration_s float8) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
    SELECT clock_timestamp() + make_interval(secs => p_duration_s * (1 - 0.05 * random()))
$$;

CREATE FUNCTION lease_remaining(p_expires_at timestamptz) RETURNS float8 LANGUAGE sql VOLATILE AS $$
    SELECT extract(epoch FROM p_expires_at - clock_timestamp())::float8
$$;


-- L5. One row per asked table; `version` is the newest there is, which is also news for a node that missed it.
--   renewed   its lease on that version runs to expires_at
--   skipped   the table's row is locked by a publisher: ask again within 50 ms
--   lost      there is no live lease of this node on that version; an older version's just runs to its end
CREATE FUNCTION lease_renew(p_node text, p_incarnation bigint, p_duration_s float8, p_tables int[])
RETURNS TABLE (table_id int, version int, expires_at timestamptz, remaining_s float8, outcome text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_locked int[];
BEGIN
    PERFORM lease_assert_read_committed();
    SELECT coalesce(array_agg(locked.id), '{}') INTO v_locked
    FROM (SELECT t.id FROM catalog_table t WHERE t.id = ANY (p_tables) ORDER BY t.id FOR SHARE SKIP LOCKED) locked;

    RETURN QUERY
    WITH newest AS (
        SELECT asked.id AS table_id, max(d.version) AS version
        FROM unnest(p_tables) AS asked (id) LEFT JOIN catalog_descriptor d ON d.table_id = asked.id
        GROUP BY asked.id
    ), renewed AS (
        UPDATE leases_lease l SET expires_at = greatest(l.expires_at, lease_expiration(p_duration_s))
        FROM newest
        WHERE l.table_id = newest.table_id AND l.version = newest.version AND l.table_id = ANY (v_locked)
          AND l.node = p_node AND l.incarnation = p_incarnation AND l.expires_at > clock_timestamp()
        RETURNING l.table_id, l.expires_at
    )
    SELECT newest.table_id, newest.version, renewed.expires_at, lease_remaining(renewed.expires_at),
           CASE WHEN renewed.table_id IS NOT NULL THEN 'renewed'
                WHEN newest.table_id = ANY (v_locked) THEN 'lost'
                WHEN EXISTS (SELECT FROM catalog_table t WHERE t.id = newest.table_id) THEN 'skipped'
                ELSE 'lost' END
    FROM newest LEFT JOIN renewed ON renewed.table_id = newest.table_id
    ORDER BY newest.table_id;
END $$;


-- L4. False: there was none. Releasing only shrinks what is leased, so it needs no table's row.
CREATE FUNCTION lease_release(p_table int, p_version int, p_node text, p_incarnation bigint, p_notifies boolean DEFAULT true)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM leases_lease l
    WHERE l.table_id = p_table AND l.version = p_version AND l.node = p_node AND l.incarnation = p_incarnation;
    IF FOUND THEN
        IF p_notifies THEN PERFORM pg_notify('schemalab_lease', p_table::text); END IF;
    END IF;
    RETURN FOUND;
END $$;


-- Deletes the leases that are over; says which. Rows that somebody works on are left for the next time.
CREATE FUNCTION lease_sweep()
RETURNS TABLE (table_id int, version int, node text, incarnation bigint, expires_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH over AS (
        SELECT l.id FROM leases_lease l WHERE l.expires_at <= clock_timestamp() FOR UPDATE SKIP LOCKED
    ), swept AS (
        DELETE FROM leases_lease l USING over WHERE l.id = over.id
        RETURNING l.table_id, l.version, l.node, l.incarnation, l.expires_at
    ), told AS (
        SELECT pg_notify('schemalab_lease', s.table_id::text) FROM (SELECT DISTINCT swept.table_id FROM swept) s
    )
    SELECT swept.* FROM swept, (SELECT count(*) FROM told) AS all_told;
END $$;


-- The sessions whose transactions use (table, version) now: they hold its shared advisory lock (T2).
CREATE FUNCTION lease_users(p_table int, p_version int)
RETURNS TABLE (pid int, session_name text) LANGUAGE sql VOLATILE AS $$
    SELECT l.pid, a.application_name
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.mode = 'ShareLock' AND l.granted
      AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
      AND l.classid::bigint = p_table AND l.objid::bigint = p_version AND l.pid <> pg_backend_pid()
$$;

-- A session that ends gives its locks back first and is taken off this list last.
CREATE FUNCTION lease_is_session(p_pid int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_stat_clear_snapshot();  -- else the list is the one of the transaction's first look
    RETURN EXISTS (SELECT FROM pg_stat_get_activity(p_pid));
END $$;

-- Ends sessions and waits until they are gone: nothing they did may be acknowledged after this returns.
CREATE FUNCTION lease_end_sessions(p_pids int[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_pid int;
BEGIN
    PERFORM pg_terminate_backend(pid) FROM unnest(p_pids) AS pid;  -- all first, then wait for each
    FOREACH v_pid IN ARRAY p_pids LOOP
        IF lease_is_session(v_pid) AND NOT pg_terminate_backend(v_pid, 1000) AND lease_is_session(v_pid) THEN
            RAISE EXCEPTION 'session % was told to end and has not after 1 s', v_pid USING ERRCODE = 'SL103';
        END IF;
    END LOOP;
    RETURN cardinality(p_pids);
END $$;

-- L10: ends the sessions of a node that use a version (NULL: each it leases), then deletes the leases.
CREATE FUNCTION lease_revoke(p_table int, p_node text, p_version int DEFAULT NULL)
RETURNS TABLE (version int, sessions_ended int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_version int;
    v_pids int[];
BEGIN
    FOR v_version IN
        SELECT DISTINCT l.version FROM leases_lease l
        WHERE l.table_id = p_table AND l.node = p_node AND l.version = coalesce(p_version, l.version) ORDER BY 1
    LOOP
        SELECT coalesce(array_agg(u.pid), '{}') INTO v_pids
        FROM lease_users(p_table, v_version) u WHERE starts_with(u.session_name, node_session_prefix(p_node));
        sessions_ended := lease_end_sessions(v_pids);
        DELETE FROM leases_lease l WHERE l.table_id = p_table AND l.node = p_node AND l.version = v_version;
        version := v_version;
        RETURN NEXT;
    END LOOP;
    PERFORM pg_notify('schemalab_lease', p_table::text);
END $$;


CREATE FUNCTION node_session_prefix(p_node text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'schemalab node ' || p_node || ' '
$$;

CREATE FUNCTION node_forget_leases(p_node text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_forgotten int;
BEGIN
    WITH forgotten AS (
        DELETE FROM leases_lease l WHERE l.node = p_node RETURNING l.table_id
    ), told AS (
        SELECT pg_notify('schemalab_lease', f.table_id::text) FROM (SELECT DISTINCT table_id FROM forgotten) f
    )
    SELECT (SELECT count(*) FROM forgotten) INTO v_forgotten FROM (SELECT count(*) FROM told) AS all_told;
    RETURN v_forgotten;
END $$;

-- L10: a node starts. First its former incarnations' sessions end, then their leases go, then it has a new one.
-- A former incarnation that still runs is refused from here on (SL101): acquire waits for the row we hold.
CREATE FUNCTION node_register(p_node text, p_host text, p_port int, p_pid int)
RETURNS TABLE (incarnation bigint, sessions_ended int, leases_ended int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_incarnation bigint;
    v_pids int[];
BEGIN
    PERFORM lease_assert_read_committed();
    INSERT INTO leases_node (name, incarnation, host, port, pid, state, is_drain_asked, heartbeat_at)
    VALUES (p_node, 0, p_host, p_port, p_pid, 'up', false, NULL) ON CONFLICT (name) DO NOTHING;
    SELECT n.incarnation INTO STRICT v_incarnation FROM leases_node n WHERE n.name = p_node FOR UPDATE;

    PERFORM pg_stat_clear_snapshot();
    SELECT coalesce(array_agg(a.pid), '{}') INTO v_pids FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
      AND starts_with(a.application_name, node_session_prefix(p_node));
    sessions_ended := lease_end_sessions(v_pids);
    leases_ended := node_forget_leases(p_node);

    UPDATE leases_node n
    SET incarnation = v_incarnation + 1, host = p_host, port = p_port, pid = p_pid, state = 'up',
        is_drain_asked = false, heartbeat_at = clock_timestamp()
    WHERE n.name = p_node RETURNING n.incarnation INTO incarnation;
    RETURN NEXT;
END $$;

-- 'up' or 'draining'; NULL: this incarnation is superseded and must stop serving.
CREATE FUNCTION node_heartbeat(p_node text, p_incarnation bigint) RETURNS text LANGUAGE sql VOLATILE AS $$
    UPDATE leases_node n SET heartbeat_at = clock_timestamp()
    WHERE n.name = p_node AND n.incarnation = p_incarnation
    RETURNING CASE WHEN n.is_drain_asked THEN 'draining' ELSE 'up' END
$$;

-- L10: a node in draining gets no new lease; it hears of it at once, or with its next heartbeat. False: unknown.
CREATE FUNCTION node_drain(p_node text, p_is_drain_asked boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_is_known boolean;
BEGIN
    PERFORM FROM leases_node n WHERE n.name = p_node FOR UPDATE;  -- no acquisition is half way
    UPDATE leases_node n
    SET is_drain_asked = p_is_drain_asked,
        state = CASE WHEN n.state = 'down' THEN 'down' WHEN p_is_drain_asked THEN 'draining' ELSE 'up' END
    WHERE n.name = p_node;
    v_is_known := FOUND;
    RETURN v_is_known;
END $$;

-- A node stops in good order: nothing of it is left to wait for. False: it was superseded.
CREATE FUNCTION node_leave(p_node text, p_incarnation bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE leases_node n SET state = 'down', heartbeat_at = NULL, is_drain_asked = true
    WHERE n.name = p_node AND n.incarnation = p_incarnation;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM node_forget_leases(p_node);
    RETURN true;
END $$;
