"""The lab as a browser's Django knows it: it explores for nobody's change, and one search waits at a time."""

from django.apps import AppConfig


class LabConfig(AppConfig):
    name = "lab"

    def ready(self) -> None:
        from catalog import hints
        from schemalab.anywhere import searches

        hints.sent_through(lambda: searches.QUEUE)


class AuthConfig(AppConfig):
    """Its models alone: nobody signs in, and its own configuration loads migrations and checks."""

    name = "django.contrib.auth"


class ContentTypesConfig(AppConfig):
    name = "django.contrib.contenttypes"
