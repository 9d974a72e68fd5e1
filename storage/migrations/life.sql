-- The sign of the server's life (T7): it changes with every start and with every recovery after a crash.
-- PostgreSQL empties an unlogged table in recovery and after a failover; the first to find it empty writes a random id.
-- The start time of the postmaster, which outlives the crash of a child, tells servers with copied data apart.

CREATE UNLOGGED TABLE storage_life_id (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    id uuid NOT NULL DEFAULT gen_random_uuid()
);
-- for READ COMMITTED: of several that find the table empty all but the first see the first one's id
CREATE FUNCTION storage_life() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    known uuid := (SELECT id FROM storage_life_id);
BEGIN
    IF known IS NULL THEN
        INSERT INTO storage_life_id DEFAULT VALUES ON CONFLICT DO NOTHING;
        known := (SELECT id FROM storage_life_id);
    END IF;
    RETURN known || ' ' || extract(epoch FROM pg_postmaster_start_time());
END $$;
