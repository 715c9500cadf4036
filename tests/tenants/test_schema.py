"""What the OpenAPI document says about every view."""

from typing import Any

import pytest
from django.urls import path
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.rest.views import MemberView
from tests.tenants.probe import Body, Echo


class Asked(Echo):
    @extend_schema(request=Body, responses=Body)
    def post(self, request: Request) -> Response:
        return super().post(request)


class Decided(MemberView):
    @extend_schema(request=Body, responses=None)
    def post(self, request: Request) -> Response:
        return Response()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    patterns = [
        path("api/v1/asked", Asked.as_view(http_method_names=["post"])),
        path("api/v1/decided", Decided.as_view()),
    ]
    generator = SchemaGenerator(patterns=patterns)
    schema: dict[str, Any] = generator.get_schema(request=None, public=True)
    return schema


def test_agents_use_a_key_and_members_a_session(document: dict[str, Any]) -> None:
    assert document["paths"]["/api/v1/asked"]["post"]["security"] == [{"apiKey": []}]
    decided = document["paths"]["/api/v1/decided"]["post"]["security"]
    assert decided == [{"session": [], "csrf": [], "tenant": []}]
    schemes = document["components"]["securitySchemes"]
    assert schemes["apiKey"]["scheme"] == "bearer"
    assert schemes["tenant"]["name"] == "Keyturn-Tenant"


def test_every_answer_may_be_a_problem(document: dict[str, Any]) -> None:
    for operations in document["paths"].values():
        for operation in operations.values():
            reference = operation["responses"]["default"]["$ref"]
            assert reference == "#/components/responses/Problem"
    problem = document["components"]["responses"]["Problem"]["content"]
    assert list(problem) == ["application/problem+json"]


def test_a_post_takes_an_idempotency_key(document: dict[str, Any]) -> None:
    parameters = document["paths"]["/api/v1/asked"]["post"]["parameters"]
    assert [each["name"] for each in parameters] == ["Idempotency-Key"]


def test_strict_bodies_say_that_they_are(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["Body"]["additionalProperties"] is False
    assert schemas["Point"]["additionalProperties"] is False
