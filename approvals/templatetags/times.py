"""Times: relative in the text, absolute with zone on hover, ticking where it counts."""

from datetime import datetime, timedelta

from django import template
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.presentation.words import span

register = template.Library()


@register.simple_tag
def ago(at: datetime, now: datetime) -> SafeString:
    """'88 min ago'. The script keeps it true while the page stays open."""
    words = "just now" if (now - at).total_seconds() < 60 else f"{span(now - at)} ago"
    return tag(at, words, "ago")


@register.simple_tag
def age(at: datetime, now: datetime) -> SafeString:
    """'88 min', for columns whose head says that it is an age."""
    return tag(at, span(now - at), "age")


@register.simple_tag
def until(at: datetime, now: datetime) -> SafeString:
    """'1 h 42 min', or 'expired' once it is over."""
    return tag(at, span(at - now) if at > now else "expired", "until")


@register.simple_tag
def wait(at: datetime, now: datetime) -> SafeString:
    """'58 s', or 'over' once a waiting time has passed."""
    return tag(at, span(at - now) if at > now else "over", "wait")


@register.simple_tag
def clock(at: datetime, form: str = "H:i") -> SafeString:
    """A time of day with its zone; the script turns it into the reader's own."""
    local = timezone.localtime(at)
    return tag(at, f"{formats.date_format(local, form)} {local.tzname()}", "clock")


@register.simple_tag
def second(at: datetime) -> SafeString:
    """A time of day to the second, for logs."""
    local = timezone.localtime(at)
    return tag(at, formats.date_format(local, "H:i:s"), "second")


@register.filter
def soon(at: datetime, now: datetime) -> bool:
    """Whether less than half an hour is left."""
    return (at - now).total_seconds() < 1800


def tag(at: datetime, words: str, manner: str) -> SafeString:
    local = timezone.localtime(at)
    absolute = f"{formats.date_format(local, 'j F Y, H:i:s')} {local.tzname()}"
    return format_html(
        '<time datetime="{}" title="{}" data-time="{}">{}</time>',
        at.isoformat(),
        absolute,
        manner,
        words,
    )


@register.filter
def span_words(length: timedelta) -> str:
    """A length of time in words."""
    return span(length)
