"""What the API does when a view says nothing."""

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView


class Nobody(BasePermission):
    """The default permission: a view that names none can be called by nobody."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return False
