"""The asynchronous door: ``uvicorn config.asgi:application``."""

import os

from django.core.asgi import get_asgi_application

from config.boot import refuse_unsafe_boot

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

refuse_unsafe_boot()
application = get_asgi_application()
