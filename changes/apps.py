from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class ChangesConfig(AppConfig):
    name = "changes"
    verbose_name = gettext_lazy("Changes")
