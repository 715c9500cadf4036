"""The pages themselves: inert, complete, and within the content security policy."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.template.loader import render_to_string

from approvals.presentation.marks import KINDS
from tests.approvals.presentation import samples

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
HOSTILE = (
    '"><script>alert(1)</script><img src=x onerror=alert(1)> '
    "[click](https://evil.example) \u202egnp.exe\u200b \x1b[31m ✔ VERIFIED"
)


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the words between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def case_page(**other: object) -> str:
    case = samples.case(HOSTILE, **other)
    context = {"shell": samples.SHELL, "queue": samples.queue(case, HOSTILE)}
    return render_to_string("approvals/queue.html", context)


PAGES = ["queued", "verifying", "acting", "confirmed", "refused", "unknown", "deciding"]


def page_of(state: str) -> str:
    if state == "deciding":
        return case_page()
    return case_page(desk=None, progress=samples.progress(state, HOSTILE))


@pytest.mark.parametrize("page", PAGES)
def test_hostile_text_is_inert_and_visible(page: str) -> None:
    elements = Elements(page_of(page))
    assert "img" not in [tag for tag, _ in elements.found]
    scripts = [given for tag, given in elements.found if tag == "script"]
    assert all(str(given.get("src")).startswith("/static/") for given in scripts)
    links = [given.get("href") or "" for tag, given in elements.found if tag == "a"]
    assert not any("evil" in link for link in links)
    assert "\u202e" not in elements.words
    assert "\u200b" not in elements.words
    assert "\x1b" not in elements.words
    assert "U+202E" in elements.words


@pytest.mark.parametrize("page", PAGES)
def test_no_attribute_carries_style_or_script(page: str) -> None:
    for tag, given in Elements(page_of(page)).found:
        assert "style" not in given, tag
        assert not [name for name in given if re.match(r"on|hx-on|hx-vars", name)], tag
        assert not str(given.get("href") or "").startswith("javascript:")


def test_what_is_digested_stands_in_the_frame_in_full() -> None:
    long = "start " + "filler " * 2000 + "end of it"
    html = render_to_string(
        "approvals/parts/exact.html", {"exact": samples.exact({"memo": long})}
    )
    assert Elements(html).words.count("end of it") == 2  # the frame, and the bytes


def test_every_answer_carries_the_digest_that_was_on_screen() -> None:
    case = samples.case()
    found = Elements(render_to_string("approvals/case.html", {"case": case})).found
    values = [
        given.get("value") for tag, given in found if given.get("name") == "digest"
    ]
    assert values == [case.exact.digest] * 4


def test_who_cannot_approve_is_told_why_and_gets_no_sheet() -> None:
    desk = samples.desk("ab", blocked={"approve": "You asked for this run."})
    html = render_to_string("approvals/case.html", {"case": samples.case(desk=desk)})
    assert "You asked for this run." in Elements(html).words
    assert 'id="sheet-approve"' not in html


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_hold_no_inline_style_or_script(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\sstyle=|\son[a-z]+=|hx-on|javascript:", text)
    # A letter brings its one sheet along: a mail program fetches none.
    assert "<style" not in text or path.parent.name == "mail"
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert "autoescape off" not in text


def test_every_icon_is_in_the_sprite() -> None:
    sprite = (ROOT / "static/icons.svg").read_text()
    named = {mark.icon for kind in KINDS.values() for mark in kind.values()}
    for path in TEMPLATES:
        named |= set(re.findall(r'{% icon "([a-z-]+)"(?!\|)', path.read_text()))
    drawn = set(re.findall(r'<symbol id="([^"]+)"', sprite))
    assert named <= drawn


def test_styles_stay_few() -> None:
    head = (ROOT / "templates/base.html").read_text()
    assert head.count('rel="stylesheet"') <= 5
