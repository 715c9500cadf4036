"""Views that show what the API's foundation does, at addresses of their own."""

from typing import Any

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kernel.problems import Problem, declare
from kernel.scope import tenant_transaction
from tenants.models import ApiKey, Group
from tenants.rest.answers import rendered
from tenants.rest.exceptions import problems
from tenants.rest.once import answered, once_from
from tenants.rest.paging import page
from tenants.rest.strict import QuerySerializer, StrictSerializer
from tenants.rest.views import AgentView, MemberView
from tenants.scopes import APPROVALS
from tenants.services.groups import form_group
from tenants.verbs import Verb, perform

REFUSED = declare("probe_refused", status=409, title="The probe refuses")


class Point(StrictSerializer):
    x = serializers.IntegerField()
    y = serializers.FloatField(required=False, allow_null=True)


class Body(StrictSerializer):
    name = serializers.CharField(max_length=5)
    count = serializers.IntegerField(required=False, min_value=1)
    share = serializers.FloatField(required=False)
    sure = serializers.BooleanField(required=False)
    kind = serializers.ChoiceField(choices=["a", "b"], required=False)
    at = serializers.DateTimeField(required=False)
    owner = serializers.UUIDField(required=False)
    tags = serializers.ListField(child=serializers.CharField(), required=False)
    counts = serializers.DictField(child=serializers.IntegerField(), required=False)
    place = Point(required=False)
    path_ = Point(many=True, required=False)
    anything = serializers.JSONField(required=False)
    made = serializers.CharField(read_only=True)

    def validate_name(self, value: str) -> str:
        if value == "bad":
            raise serializers.ValidationError("Not that one.")
        return value


class Parameters(QuerySerializer):
    flag = serializers.BooleanField(default=False)


class Page(QuerySerializer):
    cursor = serializers.CharField(required=False, allow_blank=True)
    limit = serializers.CharField(required=False, allow_blank=True)


class How(QuerySerializer):
    how = serializers.CharField(required=False)


class Echo(AgentView):
    scope = APPROVALS
    query_class = Parameters

    def get(self, request: Request) -> Response:
        return Response(self.query)

    def post(self, request: Request) -> Response:
        return Response(Body.read(request))


class Small(Echo):
    body_limit = 64


class Whoami(AgentView):
    scope = APPROVALS

    def get(self, request: Request) -> Response:
        return Response({"agent": self.principal.agent_id})


class Person(MemberView):
    def get(self, request: Request) -> Response:
        return Response({"member": self.person.member_id})

    def post(self, request: Request) -> Response:
        return self.get(request)


class Groups(AgentView):
    scope = APPROVALS
    query_class = Page

    def get(self, request: Request) -> Response:
        with tenant_transaction(self.principal.tenant_id):
            rows = Group.objects.filter(tenant_id=self.principal.tenant_id)
            return Response(page(rows, request, lambda group: {"name": group.name}))

    def post(self, request: Request) -> HttpResponse:
        name = Body.read(request)["name"]
        once = once_from(request, rendered(self._document, status=201))

        def work(verb: Verb) -> Group | Problem:
            if name == "no":
                return REFUSED("Never.")
            return form_group(verb, actor=self.principal.actor, name=name)

        result = perform(self.principal.tenant_id, work, once=once)
        if isinstance(result, Problem):
            raise result
        return answered(once)

    def _document(self, group: Group) -> dict[str, Any]:
        # Reads a row: possible only while the tenant's scope is open.
        keys = ApiKey.objects.filter(id=self.principal.key_id).count()
        return {"id": group.id, "name": group.name, "keys": keys}


class Blocked(AgentView):
    scope = APPROVALS

    def get(self, request: Request) -> Response:
        with tenant_transaction(self.principal.tenant_id):
            rows = ApiKey.objects.filter(tenant_id=self.principal.tenant_id)
            return Response(page(rows, request, lambda key: {"agent": key.agent.name}))


class Failing(AgentView):
    scope = APPROVALS
    query_class = How

    def get(self, request: Request) -> Response:
        if self.query.get("how") == "database":
            raise OperationalError("connection refused: postgres at 10.0.0.7")
        raise RuntimeError("the secret is 1234")


@problems
def plain(request: HttpRequest) -> HttpResponse:
    raise REFUSED("Plainly.", "/there")


@problems
async def later(request: HttpRequest) -> HttpResponse:
    if "ok" in request.GET:
        return JsonResponse({})
    raise REFUSED("Later.")


urlpatterns = [
    path("api/v1/echo", Echo.as_view()),
    path("api/v1/small", Small.as_view()),
    path("api/v1/whoami", Whoami.as_view()),
    path("api/v1/person", Person.as_view()),
    path("api/v1/groups", Groups.as_view()),
    path("api/v1/blocked", Blocked.as_view()),
    path("api/v1/failing", Failing.as_view()),
    path("api/v1/plain", plain),
    path("api/v1/later", later),
]
handler404 = "tenants.rest.fallbacks.page_not_found"
