from importlib import import_module

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class CatalogConfig(AppConfig):
    name = "catalog"

    def ready(self) -> None:
        """Every app says in its `streams` module what it shows on live pages; see `catalog.live.snapshot`."""
        import_module("catalog.live.signals")
        autodiscover_modules("streams")
