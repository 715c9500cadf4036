"""Icons, chips, risk and keys: every mark of ours on a page comes from here."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from approvals.presentation.case import Keys
from approvals.presentation.marks import mark as mark_of
from approvals.presentation.quarantine import quarantine_words, suspected

register = template.Library()

UNSEEN = format_html('<span class="sr">{}</span>', " keys turned")
TONES = {"": "chip"} | {
    tone: f"chip chip--{tone}" for tone in ("open", "ok", "warn", "bad", "info")
}


@register.simple_tag
@lru_cache(maxsize=1_000)  # a page has a hundred
def icon(name: str, classes: str = "") -> SafeString:
    """A symbol of the sprite. It never speaks: a word always stands beside it."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="{}#{}"/></svg>',
        classes,
        static("icons.svg"),
        name,
    )


@register.simple_tag
def chip(kind: str, word: str) -> SafeString:
    """The status `word` of a request, run, effect or job as icon and word."""
    found = mark_of(kind, word)
    return format_html(
        '<span class="{}">{}{}</span>',
        TONES.get(found.tone, "chip"),
        icon(found.icon),
        found.word,
    )


@register.simple_tag
def risk(word: str, suffix: str = "") -> SafeString:
    """Risk as bars and a word; `suffix` may add ' risk'."""
    found = mark_of("risk", word)
    return format_html(
        '<span class="risk risk--{}">{}{}{}</span>',
        word,
        icon(found.icon),
        found.word,
        suffix,
    )


@register.simple_tag
def provenance(word: str) -> SafeString:
    """Where a fact came from. A model's inference is hatched, a person's claim dashed."""
    found = mark_of("provenance", word)
    return format_html(
        '<span class="from{}">{}{}</span>',
        f" from--{found.tone}" if found.tone else "",
        icon(found.icon),
        found.word,
    )


@register.simple_tag
def quarantine(text: str, source: str) -> SafeString:
    """The mark of a text that reads like an instruction or claims an approval.

    It stands outside of the text, and repeats no word of it.
    """
    return quarantine_of(suspected(text, source))


@register.simple_tag
def quarantine_of(flags: Iterable[str]) -> SafeString:
    """The same mark for what a context was found to hold."""
    words = quarantine_words(flags)
    if not words:
        return SafeString()
    return format_html(
        ' <span class="chip chip--bad chip--words">{}{}</span>', icon("warn"), words
    )


@register.simple_tag
def keys(count: Keys, suffix: str = "") -> SafeString:
    """Keys lie flat once turned and stand upright while they wait."""
    drawn = format_html_join(
        "",
        "{}",
        ((icon(*symbol(turned)),) for turned in count.icons),
    )
    return format_html(
        '<span class="keys">{}<span>{} of {}{}</span></span>',
        drawn,
        count.turned,
        count.needed,
        suffix or UNSEEN,
    )


def symbol(turned: bool) -> tuple[str, str]:
    return ("key-turned", "icon--turned") if turned else ("key-waiting", "")


@register.simple_tag
def mark_icon(kind: str, word: str) -> SafeString:
    """Only the icon of a status, coloured, where its word is part of a sentence."""
    found = mark_of(kind, word)
    return icon(found.icon, found.tone)


@register.filter
def mark_word(word: str, kind: str) -> str:
    return mark_of(kind, word).word


@register.filter
def lookup(mapping: Any, key: Any) -> Any:
    """A mapping's entry by a key that is known only at run time."""
    return mapping.get(key, "") if mapping else ""
