"""The storages, their pair tables and their door; what the data was laid out for; numbers; the sign of the server's life."""

from pathlib import Path

from django.conf import settings
from django.db import migrations

HERE = Path(__file__).parent
MORE = "; ".join(f"SELECT storage_make_schema({number})" for number in range(2, settings.STORAGE_COUNT + 1))
LAYOUT = (
    "INSERT INTO storage_layout (storages, buckets, existing)"
    f" VALUES ({settings.STORAGE_COUNT}, {settings.BUCKET_COUNT}, {settings.STORAGE_COUNT})"
)
DROP_STORAGES = """DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT nspname FROM pg_namespace WHERE nspname ~ '^storage_[0-9]+$' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', name);
    END LOOP;
END $$; DROP ROUTINE storage_arm_deadline"""
DROP_LAYOUT = """DROP ROUTINE storage_make_pairs, storage_make_table, storage_make_schema, storage_make_missing,
 storage_copy_versions; DROP TABLE storage_layout; DROP SCHEMA identity CASCADE"""
DROP_SPARES = (
    "DROP ROUTINE storage_make_spares, storage_take_table; DROP TABLE storage_spare; DROP SEQUENCE storage_table_id"
)


class Migration(migrations.Migration):
    initial = True

    operations = [
        migrations.RunSQL((HERE / "enter.sql").read_text(), DROP_STORAGES),
        migrations.RunSQL((HERE / "layout.sql").read_text(), DROP_LAYOUT),
        migrations.RunSQL(MORE or migrations.RunSQL.noop, migrations.RunSQL.noop),
        migrations.RunSQL(LAYOUT, migrations.RunSQL.noop),
        migrations.RunSQL((HERE / "spares.sql").read_text(), DROP_SPARES),
        migrations.RunSQL((HERE / "life.sql").read_text(), "DROP ROUTINE storage_life; DROP TABLE storage_life_id"),
    ]
