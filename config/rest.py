"""What the API does when a view says nothing."""

from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

if TYPE_CHECKING:  # the framework's views load their defaults, and so this file
    from rest_framework.views import APIView


class Nobody(BasePermission):
    """The default permission: a view that names none can be called by nobody."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return False
