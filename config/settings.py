"""All settings. Everything that differs between installations is in the environment.

With no ``DATABASE_URL`` the installation is *embedded*: its services live under
``KEYTURN_DATA_DIR``. Importing this file starts nothing and writes nothing.
"""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.management.utils import get_random_secret_key
from django.utils.csp import CSP

from config import embedded, env
from config.embedded import broker
from config.logs import logging_configuration
from config.pool import pool_options

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.data_dir()
EMBEDDED = not env.text("DATABASE_URL")
DEBUG = env.flag("DJANGO_DEBUG")

# -- Where we are reached -------------------------------------------------------------

BASE_URL = env.text("KEYTURN_BASE_URL", "http://127.0.0.1:8000").rstrip("/")
_base = urlsplit(BASE_URL)
ALLOWED_HOSTS = env.items("DJANGO_ALLOWED_HOSTS", _base.hostname or "")
if EMBEDDED:
    ALLOWED_HOSTS += ["localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = [f"{_base.scheme}://{_base.netloc}"]
HTTPS = _base.scheme == "https"

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False

# -- Secrets --------------------------------------------------------------------------

# The random one only serves commands that sign nothing that outlives them (linting).
SECRET_KEY = env.text("DJANGO_SECRET_KEY")
if EMBEDDED and not SECRET_KEY:
    SECRET_KEY = embedded.secret_key(DATA_DIR) or get_random_secret_key()
SECRET_KEY_FALLBACKS = env.items("DJANGO_SECRET_KEY_FALLBACKS")

# Asked for by `/start`; without one only the console makes the first tenant.
SETUP_CODE = env.text("KEYTURN_SETUP_CODE")
if EMBEDDED and not SETUP_CODE:
    SETUP_CODE = embedded.setup_code(DATA_DIR)

# What an installation needs concerns all of its tenants, so that their admins see it
# only where one organisation has it to itself.
SYSTEM_PAGE = env.flag("KEYTURN_SYSTEM_PAGE", default=EMBEDDED)

AUDIT_KEY = env.path("KEYTURN_AUDIT_KEY", DATA_DIR / "keys" / "audit.pem")
DATA_KEYS = env.path("KEYTURN_DATA_KEYS", DATA_DIR / "keys" / "data.keys")
# What `secret://name` stands for, as files `<tenant>/<name>` (see docs/how-to).
SECRETS_DIR = env.path("KEYTURN_SECRETS_DIR", DATA_DIR / "secrets")

# -- Apps -----------------------------------------------------------------------------

INSTALLED_APPS = [
    # Above Django's, so that our `migrate` is the one that runs.
    "config",
    "oversight",
    "approvals",
    "checkpoints",
    "sessions",
    "tenants",
    "audit",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "guardian",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "health_check",
]

MIDDLEWARE = [
    "tenants.middleware.name_requests",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "config.static_files.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# -- Database -------------------------------------------------------------------------

# A lock nobody yields and a transaction nobody ends are refusals, not waits.
_SESSION = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "lock_timeout": "2s",
        "idle_in_transaction_session_timeout": "5s",
        "transaction_timeout": "10s",
        "default_transaction_isolation": r"read\ committed",
        # Joins are written from what is sought; to weigh all orders of nine tables takes
        # longer than any of them. docs/decisions/0045-joins-as-written.md
        "join_collapse_limit": "4",
    }.items()
)
_services = embedded.describe(DATA_DIR)


def _privileged(name: str, embedded_url: str, **options: Any) -> dict[str, Any]:
    """Return a connection that most processes are not given, and then refuse to make."""
    url = env.text(name, embedded_url if EMBEDDED else "")
    if not url:
        return {"ENGINE": "django.db.backends.dummy"}
    return env.database(url, **options)


DATABASES = {
    "default": env.database(
        env.text("DATABASE_URL", _services.app_url),
        options=_SESSION,
        pool=pool_options(),
    ),
    # Migrations only. Web and worker processes need not be given its URL.
    "owner": _privileged("DATABASE_OWNER_URL", _services.owner_url),
    # Sweeps only: which tenant has something due.
    "relay": _privileged("DATABASE_RELAY_URL", _services.relay_url, options=_SESSION),
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"

# Guesses are counted here, for all processes together.
CACHES = {"default": {"BACKEND": "config.shared_cache.SharedCache"}}

# -- Celery ---------------------------------------------------------------------------

CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", "filesystem://localhost")
if not env.text("CELERY_BROKER_URL"):
    CELERY_BROKER_TRANSPORT = "config.embedded.broker:Transport"
    CELERY_BROKER_TRANSPORT_OPTIONS = broker.transport_options(DATA_DIR)
    CELERY_WORKER_ENABLE_REMOTE_CONTROL = False  # it would be a file a second
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # however long a broker is away
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")
# They expire, so that they do not pile up for days while no worker runs; and late enough
# that neither beat's clock nor a worker's has to be right.
CELERY_BEAT_SCHEDULE = {
    task: {"task": task, "schedule": seconds, "options": {"expires": 60 * 60}}
    for task, seconds in {
        "approvals.sweep": 2,
        "approvals.anchor": 60,
        "approvals.purge": 300,
        "approvals.sweep_files": 24 * 60 * 60,
        "oversight.tally": 15 * 60,
    }.items()
}

# How long a worker that says nothing keeps the job that it was given, in seconds.
CLAIM_SECONDS = env.number("KEYTURN_CLAIM_SECONDS", 15)
# A folder in which tests hold workers at named places; boot refuses it elsewhere.
TEST_BARRIERS = env.text("KEYTURN_TEST_BARRIERS")

# Modules that register the upgrade steps of checkpoints; see docs/how-to.
UPGRADES = ["config.demo.upgrades", *env.items("KEYTURN_UPGRADES")]

# -- Signing in -----------------------------------------------------------------------

AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_FORMS = {"login": "tenants.signin.forms.LoginForm"}
ACCOUNT_ADAPTER = "tenants.adapter.AccountAdapter"
ACCOUNT_SIGNUP_ENABLED = False  # people are invited
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_UNIQUE_EMAIL = True
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_SESSION_REMEMBER = False
# Besides allauth's own: what asks a tenant's provider, and tries of the setup code.
ACCOUNT_RATE_LIMITS = {"single_sign_on": "60/m/ip", "setup_code": "10/m/ip,60/h/ip"}
ACCOUNT_DEFAULT_HTTP_PROTOCOL = _base.scheme
MFA_ADAPTER = "tenants.signin.factors.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_FORMS = {
    "activate_totp": "tenants.signin.forms.ActivateForm",
    "authenticate": "tenants.signin.forms.AuthenticateForm",
    "reauthenticate": "tenants.signin.forms.ReauthenticateForm",
}
MFA_TOTP_ISSUER = "Keyturn"
MFA_TOTP_TOLERANCE = 1  # steps of 30 s, for slow hands and clocks; each counts once
MFA_RECOVERY_CODES_SHOW_ONCE = True

_smtp = env.text("KEYTURN_SMTP_URL")
MAILS = bool(_smtp)
MAILERS = {
    "default": env.mailer(_smtp)
    if _smtp
    else {"BACKEND": "django.core.mail.backends.dummy.EmailBackend"}
}
DEFAULT_FROM_EMAIL = env.text("KEYTURN_MAIL_FROM", f"keyturn@{_base.hostname}")
SERVER_EMAIL = DEFAULT_FROM_EMAIL

# An object permission counts only when it was given on the object.
ANONYMOUS_USER_NAME = None
GUARDIAN_MONKEY_PATCH_USER = False
GUARDIAN_MONKEY_PATCH_GROUP = False

# -- Browser --------------------------------------------------------------------------

SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SILENCED_SYSTEM_CHECKS = [
    "guardian.W001",  # its backend would let has_perm grant authority
    "security.W005",  # HSTS for subdomains: not ours to decide for our neighbours
    "security.W021",  # nor is the preload list
]
if env.flag("KEYTURN_BEHIND_PROXY"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    ALLAUTH_TRUSTED_PROXY_COUNT = 1  # else all share the proxy's limit on sign-ins

# __Host- pins a cookie to this host, its root path and TLS.
_cookie = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME = f"{_cookie}keyturn_session"
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 60 * 60
CSRF_COOKIE_NAME = f"{_cookie}keyturn_csrf"
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"

LANGUAGE_CODE = "en"
USE_I18N = False
FORMS_URLFIELD_ASSUME_HTTPS = True

# -- Static files ---------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    # Sealed before they come here, and served by no address of their own.
    "artifacts": env.storage(
        "KEYTURN_ARTIFACTS_STORAGE",
        env.path("KEYTURN_ARTIFACTS_DIR", DATA_DIR / "artifacts"),
    ),
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if EMBEDDED
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
# An embedded installation has no build step: it serves what is in the source.
WHITENOISE_USE_FINDERS = EMBEDDED

# -- API ------------------------------------------------------------------------------

REST_FRAMEWORK = {
    # A view says who may call it; one that forgets is called by nobody.
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["config.rest.Nobody"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["tenants.rest.bodies.StrictJSONParser"],
    "EXCEPTION_HANDLER": "tenants.rest.exceptions.exception_handler",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "URL_FORMAT_OVERRIDE": None,  # `Accept` alone says what is wanted
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Keyturn",
    "DESCRIPTION": (
        "The second key for AI agents: an agent asks for one exact action, people"
        " decide, and the action is verified again at the moment it happens.\n\n"
        "Bodies are strict JSON: no unknown keys, no other types. Whatever is refused"
        " is `application/problem+json` (RFC 9457); its `code` is stable. Each answer"
        " below lists the codes that come with it."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "ENUM_NAME_OVERRIDES": {
        "RunState": "sessions.models.Run.State",
        "RequestState": "approvals.models.Request.State",
        "EffectState": "checkpoints.models.Effect.State",
        "SessionState": ["open", "waiting"],
        "Verdict": "approvals.asks.VERDICTS",
        "HITLAnswer": ["approve", "edit", "reject", "respond"],
        "HumanAnswer": ["accept", "ignore", "response", "edit"],
        "AGUIOutcomeType": ["success", "interrupt"],
        "TypeEnum": "sessions.media.NAMES",
    },
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "tenants.rest.schema.describe_problems",
        "tenants.rest.schema.let_null_be_json",
    ],
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

# -- Outbound -------------------------------------------------------------------------

BODY_LIMIT = env.number("KEYTURN_BODY_LIMIT", 1024 * 1024)
# Bytes of one artifact (`config.bodies` lets no more than 13 MiB in), and how long it
# is kept unless its sender says.
ARTIFACT_LIMIT = env.number("KEYTURN_ARTIFACT_LIMIT", 8 * 1024 * 1024)
ARTIFACT_DAYS = env.number("KEYTURN_ARTIFACT_DAYS", 30)
ALLOW_PRIVATE = env.items("KEYTURN_ALLOW_PRIVATE")
# Makes summaries of what agents said; trusted with nothing (approvals.context.summary).
SUMMARISER = env.text("KEYTURN_SUMMARISER", "approvals.context.summary.extract")

# -- Waiting --------------------------------------------------------------------------

# How many waits and streams one key may hold open in one process.
WAITS_PER_KEY = env.number("KEYTURN_WAITS_PER_KEY", 500)

# -- Logging --------------------------------------------------------------------------

LOGGING = logging_configuration(json=env.text("KEYTURN_LOGS", "json") == "json")
