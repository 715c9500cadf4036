"""WhiteNoise for both kinds of server.

Its middleware is synchronous only, and one such link in the chain makes every waiting
request hold a thread. Static files are small, so serving them needs none of that.
"""

import gzip
from collections.abc import Awaitable, Callable
from typing import Final

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware

LEAST: Final = 512  # bytes; below that nothing is won

type Next = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc] # it has no types
    """Serves static files, and otherwise steps aside without taking a thread."""

    async_capable = True

    def __init__(self, get_response: Next) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(
        self, request: HttpRequest
    ) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if iscoroutinefunction(self):
            return self._answer(request)
        answer: HttpResponseBase = super().__call__(request)
        return answer

    async def _answer(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        file = self.find_file(path) if self.autorefresh else self.files.get(path)
        if file is None:
            answer: HttpResponseBase = await self.get_response(request)
            return answer
        served = self.serve(file, request)
        whole = HttpResponse(
            b"".join(served.streaming_content), status=served.status_code
        )
        del whole["Content-Type"]
        for name, value in served.items():
            whole[name] = value
        served.close()
        return _smaller(whole, request)


def _smaller(whole: HttpResponse, request: HttpRequest) -> HttpResponse:
    """Compressed where that was not done at build time, as nothing is built embedded.

    These files are the same for everybody, so that their length tells nothing.
    """
    accepted = "gzip" in request.headers.get("Accept-Encoding", "")
    done = whole.has_header("Content-Encoding") or whole.status_code != 200
    if done or not accepted or not _is_text(whole) or len(whole.content) < LEAST:
        return whole
    whole.content = gzip.compress(whole.content, mtime=0)
    whole["Content-Encoding"] = "gzip"
    whole["Content-Length"] = str(len(whole.content))
    del whole["ETag"]  # of other bytes; the time of the last change stays
    patch_vary_headers(whole, ["Accept-Encoding"])
    return whole


def _is_text(whole: HttpResponse) -> bool:
    kind = whole.get("Content-Type", "")
    return kind.startswith("text/") or "javascript" in kind or "svg" in kind
