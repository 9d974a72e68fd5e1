from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("spark_tasks", "0006_runs_rest_beside_traffic"),
    ]

    operations = [
        migrations.AddField(
            model_name="reorgrange",
            name="chunks",
            field=models.IntegerField(default=0, help_text="committed so far"),
        ),
        migrations.AddField(
            model_name="reorgrange",
            name="reached_storage",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="reorgrange",
            name="reached_key",
            field=models.BinaryField(
                help_text="the last pair of the last chunk: what follows leads on there", null=True
            ),
        ),
    ]
