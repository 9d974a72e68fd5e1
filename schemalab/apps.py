from django.apps import AppConfig
from django.db.models.signals import post_migrate


class SchemalabConfig(AppConfig):
    name = "schemalab"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from schemalab import checks
        from schemalab.celery import app  # shared tasks of this process go to our broker
        from schemalab.people import roles

        assert checks
        assert app
        post_migrate.connect(roles.keep_roles, dispatch_uid="schemalab.people.roles")
