"""The two kinds of API views: those that agents call, and those that members call."""

from typing import Any, ClassVar, Final

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from kernel.problems import declare
from tenants.authentication import (
    NOT_AUTHENTICATED,
    KeyAuthentication,
    MemberAuthentication,
)
from tenants.principal import Person, Principal
from tenants.rest.bodies import JSONNegotiation, StrictJSONParser, require_length
from tenants.rest.exceptions import exception_handler
from tenants.rest.strict import QuerySerializer
from tenants.scopes import READ

SCOPE_MISSING: Final = declare(
    "scope_missing", status=403, title="This API key was not issued for that"
)


def require_scope(principal: Principal, needed: str) -> None:
    """Raises `scope_missing` (403) unless the key was issued for that."""
    if needed not in principal.scopes:
        raise SCOPE_MISSING(f"The scope {needed!r} is needed.", scope=needed)


class HoldsScope(BasePermission):
    """An agent whose key has `read` for reading, and the view's `scope` otherwise."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, Principal):
            raise NOT_AUTHENTICATED()
        reads = request.method in SAFE_METHODS
        require_scope(request.auth, READ if reads else getattr(view, "scope", ""))
        return True


class IsMember(BasePermission):
    """A member, signed in through a browser."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, Person):
            raise NOT_AUTHENTICATED()
        return True


class JSONView(APIView):
    """Strict JSON in, JSON or a problem out."""

    parser_classes = [StrictJSONParser]
    renderer_classes = [JSONRenderer]
    content_negotiation_class = JSONNegotiation
    metadata_class = None
    body_limit: ClassVar[int | None] = None
    """Bytes of body that are taken; None for the installation's own limit."""
    query_class: ClassVar[type[QuerySerializer]] = QuerySerializer
    """The URL's parameters, for reading. Writing takes none."""

    query: dict[str, Any]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        require_length(request)
        reads = request.method in SAFE_METHODS
        self.query = (self.query_class if reads else QuerySerializer).read(
            request.query_params
        )

    def get_exception_handler(self) -> Any:
        return exception_handler


class AgentView(JSONView):
    """Called with an API key. `scope` is what writing needs (`tenants.scopes`)."""

    authentication_classes = [KeyAuthentication]
    permission_classes = [HoldsScope]
    scope: ClassVar[str]

    @property
    def principal(self) -> Principal:
        """The agent that calls."""
        assert isinstance(self.request.auth, Principal)
        return self.request.auth


class MemberView(JSONView):
    """Called from a member's browser session, with CSRF token and `Keyturn-Tenant`."""

    authentication_classes = [MemberAuthentication]
    permission_classes = [IsMember]

    @property
    def person(self) -> Person:
        """The member who calls."""
        assert isinstance(self.request.auth, Person)
        return self.request.auth
