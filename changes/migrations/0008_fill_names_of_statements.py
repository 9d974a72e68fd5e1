"""Changes of before: the names are those that their plans know. May be run again."""

from django.db import migrations

FILL = """
UPDATE changes_change SET names = jsonb_build_object(
    'tables', (
        SELECT coalesce(jsonb_object_agg(known ->> 'name', known -> 'table_id'), '{}')
        FROM jsonb_array_elements(coalesce(plan -> 'partners', '[]') || jsonb_build_array(plan -> 'base')) AS known
        WHERE jsonb_typeof(known) = 'object'
    ),
    'uniques', (
        SELECT coalesce(jsonb_agg(move ->> 'name' ORDER BY number), '[]')
        FROM jsonb_array_elements(coalesce(plan -> 'moves', '[]')) WITH ORDINALITY AS moved (move, number)
        WHERE move ->> 'kind' = 'unique index' AND move ->> 'direction' = 'add'
    )
)
WHERE names IS NULL
"""


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0007_names_of_statements"),
    ]

    operations = [
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
