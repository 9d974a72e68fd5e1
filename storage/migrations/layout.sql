-- The layout of the data: pair tables, and how many storages there are.
-- `storages` is what the cluster began with, which placements without a number of their own mean; `existing` is how many
-- there are now. Makers of something on every storage (a pair table, a version's copies, a fence) hold this row FOR SHARE;
-- adding and removing a storage holds it FOR UPDATE, so that each storage has all of it.

CREATE TABLE storage_layout (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    storages int NOT NULL,
    buckets int NOT NULL,
    existing int NOT NULL
);

-- k lies uncompressed and in short headers (STORAGE EXTERNAL), so that the longest key is the same for every content;
-- vacuum comes early and never truncates the table's end, which would lock writers out.
CREATE FUNCTION storage_make_pairs(p_storage int, p_table int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE storage_%s.kv_%s ('
        'k bytea STORAGE EXTERNAL NOT NULL, c int2 NOT NULL, v bytea, PRIMARY KEY (k, c)) WITH ('
        'fillfactor = 90, vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05,'
        'autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05)', p_storage, p_table);
    EXECUTE format('CREATE SEQUENCE storage_%s.fence_%s AS bigint', p_storage, p_table);
END $$;

CREATE FUNCTION storage_make_table(p_table int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    last int := (SELECT existing FROM storage_layout FOR SHARE);
BEGIN
    FOR number IN 1 .. last LOOP
        PERFORM storage_make_pairs(number, p_table);
    END LOOP;
END $$;

-- As often as it takes: what is there already is left alone, so a crash between two steps loses nothing.
CREATE FUNCTION storage_make_schema(p_storage int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF to_regnamespace('storage_' || p_storage) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE SCHEMA storage_%s', p_storage);
    EXECUTE format('CREATE TABLE storage_%s.versions (LIKE storage_1.versions INCLUDING ALL)', p_storage);
    EXECUTE replace(pg_get_functiondef('storage_1.enter'::regproc), 'storage_1', 'storage_' || p_storage);
END $$;

CREATE FUNCTION storage_make_missing(p_storage int, p_most int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    number int;
    made int := 0;
BEGIN
    FOR number IN
        SELECT substr(c.relname, 4)::int FROM pg_class c
        WHERE c.relnamespace = 'storage_1'::regnamespace AND c.relkind = 'r' AND c.relname ~ '^kv_[0-9]+$'
          AND to_regclass(format('storage_%s.%s', p_storage, c.relname)) IS NULL
        ORDER BY 1 LIMIT p_most
    LOOP
        PERFORM storage_make_pairs(p_storage, number);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

CREATE FUNCTION storage_copy_versions(p_storage int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    number int;
BEGIN
    EXECUTE format('INSERT INTO storage_%s.versions SELECT * FROM storage_1.versions ON CONFLICT DO NOTHING', p_storage);
    FOR number IN
        SELECT substr(c.relname, 7)::int FROM pg_class c
        WHERE c.relnamespace = 'storage_1'::regnamespace AND c.relkind = 'S' AND c.relname ~ '^fence_[0-9]+$'
          AND pg_sequence_last_value(c.oid) IS NOT NULL
    LOOP
        PERFORM setval(format('storage_%s.fence_%s', p_storage, number),
                       pg_sequence_last_value(format('storage_1.fence_%s', number)));
    END LOOP;
END $$;

-- Sequences of identity columns (`storage.sequences`), in no storage, since a storage can be removed.
CREATE SCHEMA identity;
