-- Pair tables made ahead, so that CREATE TABLE need not wait for them.

CREATE SEQUENCE storage_table_id AS int;
CREATE TABLE storage_spare (table_id int PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT clock_timestamp());

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
