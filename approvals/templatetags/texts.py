"""Texts of agents, tools and strangers on a page: inert, whole, nothing disguised."""

import re

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from approvals.presentation.arguments import ArgumentNode
from approvals.presentation.cuts import cut_words
from approvals.presentation.words import digest_words
from kernel.visible import Segment, is_plain, segments

register = template.Library()

PLAIN_SPACE = re.compile(r"[ \t\r\n]+")


@register.filter
def visible(text: str) -> SafeString:
    """Escaped text in which nothing stays unseen: what hides or imitates is marked."""
    return format_html_join("", "{}", ((drawn(part),) for part in segments(text)))


@register.filter
def one_line(text: str) -> SafeString:
    """`visible` on one line, for lists; only plain spaces and breaks are joined."""
    return visible(PLAIN_SPACE.sub(" ", text))


@register.filter
def in_words(text: str) -> str:
    """`one_line` for where no mark can stand, such as an option of a form."""
    parts = segments(PLAIN_SPACE.sub(" ", text))
    return "".join(
        part.text if part.kind == "text" else f"[{shown(part)}]" for part in parts
    )


@register.filter
def flaw(text: str) -> SafeString:
    """What is wrong with a value as `visible`: a schema's author may be quoted in it, in
    words or as `code`."""
    shapes = ("{}", "<code>{}</code>")
    return format_html_join(
        "",
        "{}",
        (
            (format_html(shapes[at % 2], visible(part)),)
            for at, part in enumerate(text.split("`"))
        ),
    )


@register.simple_tag
def cuts(text: str) -> SafeString:
    """How many secrets were cut out of a text, if any were."""
    words = cut_words(text)
    return (
        format_html(' <span class="chip chip--info chip--words">{}</span>', words)
        if words
        else SafeString()
    )


@register.filter
def path(pointer: str) -> SafeString:
    """A JSON pointer as `visible`, which breaks after its slashes and nowhere else."""
    steps = pointer.split("/")
    return format_html_join(
        mark_safe("/<wbr>"),  # our own two marks
        "{}",
        ((visible(step),) for step in steps),
    )


@register.filter
def name(text: str) -> SafeString:
    """A name from the code as `visible`, which breaks after its underscores first."""
    return format_html_join("", "{}", ((_loose(part),) for part in segments(text)))


def _loose(part: Segment) -> SafeString | str:
    if part.kind != "text":
        return drawn(part)
    words = part.text.split("_")
    return format_html_join(mark_safe("_<wbr>"), "{}", ((word,) for word in words))


def drawn(part: Segment) -> SafeString | str:
    if part.kind == "text":
        return part.text
    return format_html(
        '<span class="cp" title="{}">{}</span>', f"{part.name}: {part.why}", shown(part)
    )


def shown(part: Segment) -> str:
    """The mark's own words: the gap's, or the code point and how often it repeats."""
    if part.kind == "gap":
        return part.name or ""
    if part.kind == "confusable":
        return f"{part.text} {part.codepoint}"
    again = f", {part.count} times" if part.count > 1 else ""
    return f"{part.codepoint}{again}"


@register.simple_tag
def scalar(node: ArgumentNode) -> SafeString:
    """One exact value, its type unmistakable: "1" is not 1 and "true" is not true."""
    if node.kind == "absent":
        return format_html('<span class="quiet">{}</span>', "not there")
    if node.kind == "text" and not node.text:
        return format_html('<span class="quiet">{}</span>', "empty text")
    return format_html(
        '<span class="exactly exactly--{}">{}</span>{}',
        node.kind,
        visible(node.text),
        type_note(node),
    )


def type_note(node: ArgumentNode) -> SafeString | str:
    return format_html(" <small>{}</small>", node.kind) if node.typed else ""


@register.filter
def digest_text(digest: str) -> str:
    """A digest in short, as bare text."""
    return digest_words(digest)


@register.filter
def short_digest(digest: str, pairs: int = 2) -> SafeString:
    """A digest in short, whole on hover."""
    words = digest_words(digest, pairs=pairs)
    return format_html('<code class="digest" title="{}">{}</code>', digest, words)


@register.filter
def disguises(text: str) -> bool:
    """Whether a text is more or less than it seems."""
    return not is_plain(text)
