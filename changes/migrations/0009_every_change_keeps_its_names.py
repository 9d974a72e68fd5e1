from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0008_fill_names_of_statements"),
    ]

    operations = [
        migrations.AlterField(
            model_name="change",
            name="names",
            field=models.JSONField(default=dict),
        ),
    ]
