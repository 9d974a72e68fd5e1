from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0009_every_change_keeps_its_names"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="change",
            options={"permissions": [("steer_any_change", "Can pause, resume and cancel changes of others")]},
        ),
    ]
