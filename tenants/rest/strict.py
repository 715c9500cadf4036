"""Serializers that accept what they declare and nothing else.

Django REST framework ignores unknown keys and reads "5" as 5 and "yes" as true. A
caller who misspells `use_within` must hear of it, not be given a default; so the body
is compared with the declaration, JSON type by JSON type, before any field converts it.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.fields import Field, empty
from rest_framework.request import Request

from kernel.problems import MOST_FLAWS
from tenants.rest.flaws import Flaw, Path, flaws_of, invalid, invalid_parameter

type AnyField = Field[Any, Any, Any, Any]

# The first match decides, so a class stands before the one that it extends.
_TYPES: Final[tuple[tuple[Any, tuple[type, ...], str], ...]] = (
    (serializers.BooleanField, (bool,), "true or false"),
    (serializers.IntegerField, (int,), "a whole number"),
    (serializers.FloatField, (int, float), "a number"),
    (serializers.MultipleChoiceField, (list,), "an array"),
    (serializers.CharField, (str,), "text"),
    (serializers.ChoiceField, (str,), "text"),
    (serializers.DecimalField, (str,), "text"),
    (serializers.UUIDField, (str,), "text"),
    (serializers.DateTimeField, (str,), "text"),
    (serializers.DateField, (str,), "text"),
    (serializers.TimeField, (str,), "text"),
    (serializers.DurationField, (str,), "text"),
    (serializers.ListField, (list,), "an array"),
    (serializers.ListSerializer, (list,), "an array"),
    (serializers.DictField, (dict,), "an object"),
    (serializers.Serializer, (dict,), "an object"),
)

LONGEST_NAME: Final = 64


class StrictSerializer(serializers.Serializer[Any]):
    """A body in which every key is known and every value has its own type.

    Invalid bodies raise a `Problem` (400): `unknown_field`, `wrong_type` or
    `invalid_field`, with the pointer of the first flaw and all flaws in `errors`.
    """

    @classmethod
    def read(cls, request: Request, **context: Any) -> dict[str, Any]:
        """The validated body of a request."""
        serializer = cls(data=request.data, context=context)
        serializer.is_valid(raise_exception=True)
        return dict(serializer.validated_data)

    def run_validation(self, data: Any = empty) -> Any:
        if self.root is not self:
            return super().run_validation(data)
        flaws = list(islice(_flaws_in(self, data, ()), MOST_FLAWS))
        if flaws:
            raise invalid(flaws)
        try:
            return super().run_validation(data)
        except ValidationError as error:
            raise invalid(list(flaws_of(error.detail))) from None


class QuerySerializer(serializers.Serializer[Any]):
    """The parameters of a URL: texts that fields convert, each known and given once."""

    @classmethod
    def read(cls, given: QueryDict) -> dict[str, Any]:
        """The validated parameters. Raises `Problem` `invalid_parameter` (400)."""
        serializer = cls(data=given.dict())
        for name in given:
            if name not in serializer.fields:
                raise invalid_parameter(name, "This parameter is not known here.")
            if len(given.getlist(name)) > 1:
                raise invalid_parameter(name, "This parameter is given twice.")
        if not serializer.is_valid():
            flaw = next(flaws_of(serializer.errors))
            raise invalid_parameter(str(flaw.path[0]), flaw.detail)
        return dict(serializer.validated_data)


def _flaws_in(field: Any, value: Any, path: Path) -> Iterator[Flaw]:
    """Compare one value, and all within it, with the field that declares it."""
    if value is None or value is empty:
        return  # whether that is allowed, the field itself knows
    expected = _expected(field)
    if expected and not _has_type(value, expected[0]):
        yield Flaw(path, "wrong_type", f"Expected {expected[1]}.")
    elif isinstance(field, serializers.Serializer):
        yield from _flaws_in_members(field, value, path)
    elif isinstance(field, serializers.DictField):
        for key, inner in value.items():
            yield from _flaws_in(field.child, inner, (*path, key))
    elif isinstance(field, serializers.ListField | serializers.ListSerializer):
        for position, inner in enumerate(value):
            yield from _flaws_in(field.child, inner, (*path, position))


def _flaws_in_members(
    serializer: serializers.Serializer[Any], members: dict[str, Any], path: Path
) -> Iterator[Flaw]:
    for key, value in members.items():
        field = serializer.fields.get(key)
        if field is None or field.read_only:
            # Whatever it is, it is not sent back at length.
            detail = f"There is no field {key[:LONGEST_NAME]!r}."
            yield Flaw((*path, key), "unknown_field", detail)
        else:
            yield from _flaws_in(field, value, (*path, key))


def _expected(field: AnyField) -> tuple[tuple[type, ...], str] | None:
    for kind, types, name in _TYPES:
        if isinstance(field, kind):
            return types, name
    return None


def _has_type(value: Any, types: tuple[type, ...]) -> bool:
    # In Python a bool is an int; in JSON it is not.
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))
