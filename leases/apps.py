from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class LeasesConfig(AppConfig):
    name = "leases"
    verbose_name = gettext_lazy("Leases")
