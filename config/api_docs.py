"""The API's own description, and a page to read it on.

The page's assets come from a package and are served by us; it alone may use styles
that are not in a file, because its library makes them as it draws.
"""

from collections.abc import Collection, Mapping
from typing import Final

from django.conf import settings
from django.utils.csp import CSP
from django.views.decorators.csp import csp_override
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny

_POLICY: Final[Mapping[str, Collection[str]]] = {
    **settings.SECURE_CSP,
    "style-src": [CSP.SELF, CSP.UNSAFE_INLINE],
    "img-src": [CSP.SELF, "data:"],
}

# What the API looks like is no secret; it is in the source.
schema = SpectacularAPIView.as_view(permission_classes=[AllowAny])
docs = csp_override(_POLICY)(
    SpectacularSwaggerSplitView.as_view(
        permission_classes=[AllowAny], url_name="schema"
    )
)
