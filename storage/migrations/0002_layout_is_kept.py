"""What the data was laid out for: the number of storages there are, and of buckets that rows are spread over.

Rows are found by both; other settings on the same data would not find them. One row, written here and never changed.
"""

from django.conf import settings
from django.db import migrations

LAYOUT = """
CREATE TABLE storage_layout (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    storages int NOT NULL,
    buckets int NOT NULL
);
"""
KEEP = f"""
INSERT INTO storage_layout (storages, buckets)
SELECT count(*), {settings.BUCKET_COUNT} FROM pg_namespace WHERE nspname ~ '^storage_[0-9]+$';
"""


class Migration(migrations.Migration):
    dependencies = [("storage", "0001_storages_enter_and_spare_tables")]

    operations = [
        migrations.RunSQL(LAYOUT, "DROP TABLE storage_layout;"),
        migrations.RunSQL(KEEP, migrations.RunSQL.noop),
    ]
