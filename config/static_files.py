"""WhiteNoise for both kinds of server.

Its middleware is synchronous only, and one such link in the chain makes every waiting
request hold a thread. Static files are small, so serving them needs none of that.
"""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware

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
        return whole
