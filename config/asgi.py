"""The asynchronous door: ``uvicorn config.asgi:application``."""

import os
from typing import cast

from django.core.asgi import get_asgi_application

from config.bodies import Application, bounded
from config.boot import refuse_unsafe_boot

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

refuse_unsafe_boot()
application = bounded(cast(Application, get_asgi_application()))
