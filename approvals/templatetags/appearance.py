"""What a reader has chosen, kept in cookies; their theme and density on the root element."""

from typing import Any

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()

LOOK = {"theme": ("light", "dark"), "density": ("compact",)}
CHOICES = {**LOOK, "onward": ("1",)}


@register.simple_tag(takes_context=True)
def appearance(context: dict[str, Any]) -> SafeString:
    """Attributes such as data-theme="dark"; a cookie of other words is ignored."""
    request = context.get("request")
    cookies = request.COOKIES if request else {}
    chosen = ((name, cookies.get(f"keyturn_{name}")) for name in LOOK)
    kept = ((name, value) for name, value in chosen if value in LOOK[name])
    return format_html_join("", ' data-{}="{}"', kept)


@register.simple_tag(takes_context=True)
def checked(context: dict[str, Any], name: str, value: str) -> str:
    """' checked' for the box or button that is in force; '' names the default."""
    request = context.get("request")
    current = request.COOKIES.get(f"keyturn_{name}", "") if request else ""
    known = current if current in CHOICES[name] else ""
    return " checked" if known == value else ""
