from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class CatalogConfig(AppConfig):
    name = "catalog"
    verbose_name = gettext_lazy("Catalog")

    def ready(self) -> None:
        import_module("catalog.live.signals")
