from importlib import import_module

from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "catalog"

    def ready(self) -> None:
        """Signing out ends live pages."""
        import_module("catalog.live.signals")
