"""News of sandbox tables may be withheld from nodes for a short while; of other tables it never is."""

from pathlib import Path

from django.db import migrations, models

WITHHELD = (Path(__file__).parent / "withheld_news.sql").read_text()
NEVER = """
    DROP VIEW leases_news_withheld_now;
    DROP TRIGGER news_is_withheld_so ON leases_withheldnews;
    DROP FUNCTION leases_news_is_withheld_so();
"""


class Migration(migrations.Migration):
    dependencies = [("leases", "0004_versions_without_leases"), ("catalog", "0003_sandbox_tables")]

    operations = [
        migrations.CreateModel(
            name="WithheldNews",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_id", models.IntegerField()),
                ("node", models.TextField()),
                ("until", models.DateTimeField()),
            ],
            options={
                "constraints": (
                    models.UniqueConstraint(fields=("table_id", "node"), name="leases_news_withheld_once"),
                ),
            },
        ),
        migrations.RunSQL(WITHHELD, NEVER),
    ]
