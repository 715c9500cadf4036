"""What is not open to whoever came by a tenant's provider.

Such a session is the provider's word, good for one tenant. What guards the person's own
account, also elsewhere, is changed by them alone.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from tenants.access import entered_by


def own_account(view: Callable[..., Any]) -> Callable[..., Any]:
    """A page about passwords and second factors."""

    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if entered_by(request) is not None:
            return render(request, "sso/elsewhere.html", status=403)
        answer: HttpResponse = view(request, *args, **kwargs)
        return answer

    return page
