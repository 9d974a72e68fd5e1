from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0010_permission_to_steer_any_change"),
    ]

    operations = [
        migrations.AddField(model_name="step", name="tries", field=models.IntegerField(db_default=1, default=1)),
    ]
