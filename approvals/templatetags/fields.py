"""Fields of a form: where typing begins."""

from django import template
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

BEGINS = mark_safe(" autofocus data-outcome")  # the second is for our own script


@register.simple_tag
def begins(name: str, begin: str) -> SafeString | str:
    """The attributes of the field that takes the focus, if this is it."""
    return BEGINS if begin and name == begin else ""
