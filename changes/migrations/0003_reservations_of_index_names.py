from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0002_proofs_of_plans"),
    ]

    operations = [
        migrations.AddField(
            model_name="reservation",
            name="names",
            field=models.JSONField(default=list),
        ),
    ]
