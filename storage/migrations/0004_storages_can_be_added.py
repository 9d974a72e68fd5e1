"""Storages can be added and removed: how many there are now, and what makes one.

`storages` stays what the cluster began with, which placements without a number of their own mean; `existing` is how many
there are. Whoever makes something on every storage (a pair table, a version's copies, a fence) holds this row FOR SHARE;
who adds or removes a storage holds it FOR UPDATE, so that each storage has all of it.
"""

from django.db import migrations

EXISTING = """
ALTER TABLE storage_layout ADD COLUMN existing int;
UPDATE storage_layout SET existing = storages;
ALTER TABLE storage_layout ALTER COLUMN existing SET NOT NULL;
"""

PAIRS = """
    EXECUTE format('CREATE TABLE storage_%s.kv_%s (key bytea STORAGE EXTERNAL PRIMARY KEY, value bytea) WITH ('
        'fillfactor = 90, vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05,'
        'autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05)', p_storage, p_table);
    EXECUTE format('CREATE SEQUENCE storage_%s.fence_%s AS bigint', p_storage, p_table);
"""
MAKE_PAIRS = f"""
CREATE FUNCTION storage_make_pairs(p_storage int, p_table int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    {PAIRS}
END $$;
"""
MAKE_TABLE = """
CREATE OR REPLACE FUNCTION storage_make_table(p_table int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    last int := (SELECT existing FROM storage_layout FOR SHARE);
BEGIN
    FOR number IN 1 .. last LOOP
        PERFORM storage_make_pairs(number, p_table);
    END LOOP;
END $$;
"""

# As often as it takes: what is there already is left alone, so a crash between two steps loses nothing.
MAKE_STORAGE = """
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
"""
NO_MAKERS = """
DROP FUNCTION storage_copy_versions(int);
DROP FUNCTION storage_make_missing(int, int);
DROP FUNCTION storage_make_schema(int);
"""
MAKE_TABLE_AS_BEFORE = f"""
CREATE OR REPLACE FUNCTION storage_make_table(p_table int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR p_storage IN 1 .. (SELECT storages FROM storage_layout) LOOP
        {PAIRS}
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("storage", "0003_life_of_the_server")]

    operations = [
        migrations.RunSQL(EXISTING, "ALTER TABLE storage_layout DROP COLUMN existing;"),
        migrations.RunSQL(MAKE_PAIRS, "DROP FUNCTION storage_make_pairs(int, int);"),
        migrations.RunSQL(MAKE_TABLE, MAKE_TABLE_AS_BEFORE),
        migrations.RunSQL(MAKE_STORAGE, NO_MAKERS),
    ]
