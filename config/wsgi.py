"""The synchronous door: ``granian --interface wsgi config.wsgi:application``."""

import os

from django.core.wsgi import get_wsgi_application

from config.boot import refuse_unsafe_boot
from config.warm import warm

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

refuse_unsafe_boot()
application = get_wsgi_application()
warm()
