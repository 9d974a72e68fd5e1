"""Django's settings. What a user can choose is parsed in `schemalab/environment.py`; nothing is read here."""

from urllib.parse import unquote, urlsplit

from csp.constants import NONCE, NONE, SELF
from django.utils.translation import gettext_lazy as _

from schemalab.connections.database import django_database
from schemalab.embedded.locations import locations_of
from schemalab.local_secrets import secret
from schemalab.sources import BASE_DIR, home, load_settings
from storage.shadow.address import address_of

_chosen = load_settings()

HOME = home()
LOCATIONS = locations_of(HOME)

# --- the cluster
DATABASE_URL = _chosen["DATABASE_URL"] or LOCATIONS.database_url
SHADOW_DATABASE_URL = address_of(DATABASE_URL, _chosen["SHADOW_DATABASE_URL"])
REDIS_URL = _chosen["REDIS_URL"] or LOCATIONS.redis_url
IS_DATABASE_EMBEDDED = not _chosen["DATABASE_URL"]
IS_REDIS_EMBEDDED = not _chosen["REDIS_URL"]
SPARK_MASTER = _chosen["SPARK_MASTER"]
SPARK_SECRET = _chosen["SPARK_SECRET"]
SPARK_PYTHON = _chosen["SPARK_PYTHON"]
SPARK_EXECUTOR_MB = _chosen["SPARK_EXECUTOR_MB"]
NODES = _chosen["NODES"]
NODE_HOST = _chosen["NODE_HOST"]
NODE_PORT = _chosen["NODE_PORT"]
NODE_PASSWORD = _chosen["NODE_PASSWORD"]
NODE_TLS_CERT = _chosen["NODE_TLS_CERT"]
NODE_TLS_KEY = _chosen["NODE_TLS_KEY"]
NODE_SESSIONS_PER_USER = _chosen["NODE_SESSIONS_PER_USER"]
NODE_STATEMENT_S = _chosen["NODE_STATEMENT_S"]
NODE_IDLE_IN_TRANSACTION_S = _chosen["NODE_IDLE_IN_TRANSACTION_S"]
CHANGES_PER_MINUTE = _chosen["CHANGES_PER_MINUTE"]
NODE_CLOCK_OFFSET_S = _chosen["NODE_CLOCK_OFFSET_S"]
LEASE_S = _chosen["LEASE_S"]
STORAGE_COUNT = _chosen["STORAGE_COUNT"]
SUBMITTERS_STEER = _chosen["SUBMITTERS_STEER"]
BUCKET_COUNT = _chosen["BUCKET_COUNT"]
CHANGES_NEED_APPROVAL = _chosen["CHANGES_NEED_APPROVAL"]
EMAIL_URL = _chosen["EMAIL_URL"]
METRICS_TOKEN = _chosen["METRICS_TOKEN"]
EXERCISES_DIR = _chosen["EXERCISES_DIR"]
HOST = _chosen["HOST"]
PORT = _chosen["PORT"]

# --- Django
SECRET_KEY = _chosen["SECRET_KEY"] or secret(HOME, "SECRET_KEY")
DEBUG = _chosen["DEBUG"]
PUBLIC_URL = _chosen["PUBLIC_URL"]
ALLOWED_HOSTS = list(_chosen["ALLOWED_HOSTS"])
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC_URL.startswith("https://")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SESSION_COOKIE_SECURE else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SILENCED_SYSTEM_CHECKS: list[str] = []

DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 2**20  # a statement of 1 MB, every character of it escaped

ROOT_URLCONF = "schemalab.urls"
ASGI_APPLICATION = "schemalab.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "whitenoise.runserver_nostatic",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.admin.apps.SimpleAdminConfig",  # `schemalab.urls` has its pages loaded: a node shows none
    "channels",
    "csp",
    "catalog",
    "storage",
    "leases",
    "spark_tasks",
    "changes",
    "nodes",
    "lab",
    "rollouts",
    "schemalab",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "schemalab.http.compression.Compression",  # hides secrets in pages from BREACH with random bytes of its own
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "schemalab.http.storable_text.refuse_what_cannot_be_stored",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["schemalab.template_files.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
            ],
        },
    }
]

# No 'unsafe-inline' anywhere: widths and colours are set through attributes, SVG or the CSSOM.
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
        "frame-ancestors": [NONE],
    }
}

DATABASES = {"default": django_database(DATABASE_URL)}

AUTHENTICATION_BACKENDS = ["schemalab.people.passwords.SlowedBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in {
        "UserAttributeSimilarityValidator": {},
        "MinimumLengthValidator": {"min_length": 10},
        "CommonPasswordValidator": {},
        "NumericPasswordValidator": {},
    }.items()
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "sign-in"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# --- email: notifications alone
_smtp = urlsplit(EMAIL_URL)
EMAIL_HOST = _smtp.hostname or ""
EMAIL_USE_SSL = _smtp.scheme == "smtps"
EMAIL_USE_TLS = _smtp.scheme == "smtp" and _smtp.username is not None  # no password goes over the wire as it is
EMAIL_PORT = _smtp.port or (465 if EMAIL_USE_SSL else 587 if EMAIL_USE_TLS else 25)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = unquote(_smtp.username or ""), unquote(_smtp.password or "")
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = _chosen["EMAIL_FROM"]

# --- languages, time
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "schemalab.formats"

# --- static files: served from where they lie, without a collect step
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "filters": {"refusals": {"()": "schemalab.http.refusal_lines.WithoutTraceback"}},
    "handlers": {
        "console": {"class": "schemalab.connections.outages.Handler", "formatter": "line", "filters": ["refusals"]}
    },
    "root": {"handlers": ["console"], "level": _chosen["LOG_LEVEL"]},
    # A line per regular task and second says nothing: what happened is logged by the tasks themselves.
    "loggers": {
        **{
            f"celery.{name}": {"level": "WARNING"}
            for name in ("app.trace", "beat", "worker.strategy", "worker.request")
        },
        # uvicorn brings a handler of its own, which would tell each request that fails without the database.
        "uvicorn": {"handlers": ["console"], "propagate": False},
        "uvicorn.access": {"handlers": [], "propagate": False},  # a line per request says nothing either
    },
}
