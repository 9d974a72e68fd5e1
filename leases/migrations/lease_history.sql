-- Who used which version when: a lease that is deleted, however that came, leaves one row. Its end is that of its
-- time, if that came first. Nothing is written while a lease lasts, and nothing by statements.

CREATE FUNCTION leases_keep_past() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO leases_pastlease (table_id, version, node, incarnation, acquired_at, ended_at, expires_at)
    VALUES (OLD.table_id, OLD.version, OLD.node, OLD.incarnation, OLD.acquired_at,
            greatest(OLD.acquired_at, least(clock_timestamp(), OLD.expires_at)), OLD.expires_at);
    RETURN NULL;
END
$$;

CREATE TRIGGER leases_keep_past AFTER DELETE ON leases_lease FOR EACH ROW EXECUTE FUNCTION leases_keep_past();
