from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0005_one_change_moves_each_of_its_tables"),
    ]

    operations = [
        migrations.AddField(
            model_name="reservation",
            name="names",
            field=models.JSONField(default=list),
        ),
    ]
