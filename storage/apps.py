from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class StorageConfig(AppConfig):
    name = "storage"

    def ready(self) -> None:
        from storage import services

        # sent for apps that have models, when all migrations are done
        catalog = apps.get_app_config("catalog")
        post_migrate.connect(services.keep_reader, sender=catalog, dispatch_uid="storage.services.keep_reader")
