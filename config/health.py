"""What a proxy's probe asks: whether the process answers, and whether its database does."""

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache


@never_cache
async def live(request: HttpRequest) -> HttpResponse:
    """Waits for no thread that a database keeps busy."""
    return HttpResponse("alive\n", content_type="text/plain")


@never_cache
def ready(request: HttpRequest) -> HttpResponse:
    """Where the database is away, this is answered as everything else then is: 503."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ready\n", content_type="text/plain")
