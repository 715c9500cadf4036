"""What a web process does once, so that no request has to."""

import gc

from django.urls import get_resolver


def warm() -> None:
    """Load all views; and let the collector pass over what stays for good.

    Looking through it costs more than a tenth of a second, in the midst of a request.
    """
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
