"""A chat's message, whatever strangers wrote: words, all of them, and nothing but words."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from approvals.chat.answers import ANSWERS, chat_code
from approvals.chat.body import (
    LONGEST_FIELD,
    LONGEST_HEADER,
    LONGEST_TEXT,
    Said,
    body_of,
)
from approvals.chat.words import fit, plain, unmarked
from approvals.models import WebhookAttempt
from approvals.webhooks import shown_address

SNIPPETS = (
    *("<!everyone>", "<!channel|x>", "<@U024BE7LH>", "<#C024BE7LR>", "@here", "&lt;"),
    *("<https://evil.example|Open the case>", "[Open](https://evil.example)", "*b*"),
    *("```", "~~", "\n\n", "\u2028", "\u202e", "\u200b", "\x00", "\x1b[31m", "😀" * 40),
    *(":tada:", "_x_", "&amp;", "&", "<", ">", "|", "a" * 400),
)
hostile = st.lists(
    st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=12)), max_size=30
).map("".join)
DUE = datetime(2026, 12, 1, 16, 5, tzinfo=UTC)


def said(title: str, value: str = "pay", tenant: str = "Halden") -> Said:
    return Said(
        headline="A request waits for a decision",
        title=title,
        facts=(("Tool", value), ("Agent", value)),
        due_at=DUE,
        sentence="Nothing is decided here.",
        href="https://keyturn.example/t/halden/queue/0?a=1&b=2",
        action="Open the case",
        tenant=tenant,
    )


def objects(told: Any, type: str) -> Iterator[str]:
    """The texts of all text objects of a type, wherever they are."""
    match told:
        case {"type": found, "text": str(text)} if found == type:
            yield text
        case dict():
            for one in told.values():
                yield from objects(one, type)
        case list():
            for one in told:
                yield from objects(one, type)


def controls(text: str) -> list[str]:
    """What is left of the three characters once the entities are gone."""
    return re.findall("[<>&]", re.sub("&(?:amp|lt|gt);", "", text))


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@given(hostile, hostile, hostile)
@example("<!everyone>", "<@U024BE7LH|bob>", "&<https://evil.example>")
def test_strangers_control_nothing(title: str, value: str, tenant: str) -> None:
    told = json.loads(body_of(said(title, value, tenant)))
    quiet = json.loads(body_of(said("Pay")))
    plains = list(objects(told, "plain_text"))
    for text in (*plains, told["text"]):
        assert controls(text) == []
        assert not re.search(r"@(?!\])|://|[\u202e\u200b\x00\x1b]", without(text))
    assert list(objects(told, "mrkdwn")) == list(objects(quiet, "mrkdwn"))
    assert not [text for text in plains if re.search(r"[\n\r\u2028]", text)]
    assert told["text"].count("\n") == quiet["text"].count("\n")
    assert not re.search(r"[*~`](?!\])|\]\(", told["text"])


def without(text: str) -> str:
    """Without the one link, which is ours."""
    return text.replace("https://keyturn.example/", "", 1)


@given(hostile, hostile)
@example("😀" * 3000, "&" * 3000)
def test_no_text_is_too_long_or_empty(title: str, value: str) -> None:
    told = json.loads(body_of(said(title, value)))
    header, title_block, fields, *_ = told["blocks"]
    assert 1 <= units(header["text"]["text"]) <= LONGEST_HEADER
    if title:
        assert 1 <= units(title_block["text"]["text"]) <= LONGEST_TEXT
    for one in fields.get("fields", ()):
        assert 1 <= units(one["text"]) <= LONGEST_FIELD
    assert len(told["text"]) < 40_000


@given(hostile, st.integers(10, 60))
def test_a_cut_is_between_characters_and_says_so(text: str, most: int) -> None:
    whole, cut = fit(text, 10**6), fit(text, most)
    assert units(cut) <= most
    assert controls(cut) == []
    assert cut == whole or (cut.endswith("…") and whole.startswith(cut[:-1]))


def test_what_cannot_be_seen_is_spelt_out() -> None:
    assert plain("np\u202egnp.exe", 100) == "np[U+202E]gnp[.]exe"
    assert plain("AT&T <b> @all 12.50", 100) == "AT&amp;T &lt;b&gt; [@]all 12.50"
    assert plain("", 100) == "-"


def test_markdown_is_bracketed_and_names_stay_as_they_are() -> None:
    assert unmarked("send_payment *now* _please_", 100) == (
        "send_payment [*]now[*] [_]please[_]"
    )
    assert unmarked("[Open](x)", 100) == "[Open] (x)"


def test_ours_is_a_link_and_a_time_in_the_readers_zone() -> None:
    link, context = objects(json.loads(body_of(said("Pay"))), "mrkdwn")
    href = "https://keyturn.example/t/halden/queue/0?a=1&amp;b=2"
    assert link == f"<{href}|Open the case>"
    stamp = int(DUE.timestamp())
    shown = "{date_short_pretty} {time}|1 December 2026, 16:05 UTC"
    assert f"Decide by <!date^{stamp}^{shown}>." in context


def test_text_says_all_for_who_shows_no_blocks() -> None:
    text = json.loads(body_of(said("Pay 1")))["text"]
    for part in ("waits for a decision: Pay 1", "Tool: pay", "1 December 2026, 16:05"):
        assert part in text
    assert "https://keyturn.example/t/halden/queue/0" in text


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"no_service", "no_service"),
        (b" channel_is_archived\n", "channel_is_archived"),
        (b"<html>no_service", ""),
        (b"approve_it", ""),
        (b"\xff\xfe", ""),
        (b"", ""),
        (b"no_service" + b" " * 100 + b"x", "no_service"),
    ],
)
def test_only_known_words_of_an_answer_are_kept(body: bytes, code: str) -> None:
    assert chat_code(body) == code


def test_words_of_answers_fit_where_they_are_kept() -> None:
    most = WebhookAttempt._meta.get_field("code").max_length
    assert max(map(len, ANSWERS)) <= most


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "https://hooks.slack.com/services/T0/B0/abcdefgh",
            "https://hooks.slack.com/…efgh",
        ),
        ("https://chat.example:8443/hooks/k3y", "https://chat.example:8443/…"),
        ("https://chat.example", "https://chat.example/…"),
        (
            "https://chat.example?token=0123456789abcdefgh",
            "https://chat.example/…efgh",
        ),
    ],
)
def test_of_an_address_its_host_and_its_end_are_shown(url: str, shown: str) -> None:
    assert shown_address(url) == shown
