from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class StorageConfig(AppConfig):
    name = "storage"

    def ready(self) -> None:
        from storage import services

        # sent for apps that have models, when all migrations are done
        catalog = apps.get_app_config("catalog")
        for keep in (services.keep_reader, services.keep_pair_views):  # receivers are called in this order
            post_migrate.connect(keep, sender=catalog, dispatch_uid=f"storage.services.{keep.__name__}")
