"""Django's settings in a browser: no cluster, no sign-in. A test compares them with those of `schemalab.settings`."""

from logging import LogRecord
from pathlib import Path

from csp.constants import NONCE, NONE, SELF
from django.utils.translation import gettext_lazy as _

BASE_DIR = Path(__file__).resolve().parents[2]

SECRET_KEY = "no secret: cookies never leave the browser that signs them"  # noqa: S105
DEBUG = False
ALLOWED_HOSTS = ["*"]  # the host that serves the folder
ROOT_URLCONF = "schemalab.anywhere.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "schemalab.anywhere.apps.AuthConfig",
    "schemalab.anywhere.apps.ContentTypesConfig",
    "schemalab.anywhere.apps.LabConfig",
    "rollouts",
]

# Neither CSRF tokens nor compression: requests come from the browser's own service worker alone (SECURITY.md).
MIDDLEWARE = [
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "schemalab.anywhere.context.nobody_signs_in",
    "django.contrib.messages.middleware.MessageMiddleware",
    "schemalab.http.storable_text.refuse_what_cannot_be_stored",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [("django.template.loaders.cached.Loader", ["schemalab.template_files.Loader"])],
            "libraries": {name: f"catalog.templatetags.{name}" for name in ("glossary", "look")},
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "schemalab.anywhere.context.anywhere",
            ],
        },
    }
]

# As on a cluster, but for the frame: the shell page shows the site in one of its own.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [SELF],
    }
}

DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
LOGIN_URL = "sign-in"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "schemalab.formats"

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]

# --- what the lab's pages ask of a cluster
EXERCISES_DIR = None
LEASE_S = 10
PUBLIC_URL = ""


def is_a_failure(record: LogRecord) -> bool:
    """False for the answer that a page needs a cluster, which is 501 and meant."""
    return getattr(record, "status_code", 500) != 501


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "filters": {"failures": {"()": "django.utils.log.CallbackFilter", "callback": is_a_failure}},
    "loggers": {"django.request": {"level": "ERROR", "filters": ["failures"]}},  # a 404 is no news
}
