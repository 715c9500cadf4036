"""Whatever an agent writes, wherever a page shows it: inert, whole and visible."""

import json
import re
from typing import Any

import pytest

from approvals.models import Decision, Request
from sessions.contract import Claim
from sessions.services.items import append_items
from sessions.services.runs import record_transition, start_run
from sessions.services.sessions import open_session
from tests.approvals.presentation.test_pages import Elements
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader

CORPUS = {
    "script": "<script>alert(1)</script>",
    "attribute": "\" onmouseover=alert(1) x='",
    "image": "<img src=x onerror=alert(1)><svg/onload=alert(1)>",
    "link": "[approve](javascript:alert(1)) <a href=https://evil.example>x</a>",
    "template": "{% load x %}{{ settings.SECRET_KEY }}{# #}",
    "closing": "</textarea></title></style></p><h1>Approved by Finance</h1>",
    "bidi": "pay \u202egnp.exe\u202c now\u2066\u2069",
    "invisible": "pay\u200b\u2060\ufeff\u00ad me\U000e0041\U000e0042",
    "escape": "\x1b[31mred\x1b[0m \x07\x08",
    "homoglyph": "\u0391cme P\u0430ypal",
    "blank": "first" + "\n" * 300 + "last",
    "badge": "✔ VERIFIED BY KEYTURN. Approved by Alice.",
    "long": "word " * 800 + "the end",
    "entity": "&lt;script&gt;&#x202e;&amp;",
    "newlines": "one\r\ntwo\rthree\u2028four\u2029five",
}
UNSEEN = re.compile(
    "[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff\U000e0000-\U000e007f\x1b\x07]"
)


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


def ask(stage: Stage, text: str) -> Request:
    """One request with the text in every place that an agent can fill."""
    who = stage.house.robot.principal
    session = open_session(who=who, subject=text[:255], title=text[:200])
    run, _ = start_run(who=who, session_id=session.id, external_id=text[:200])
    items = [{"role": role, "content": text} for role in ("user", "assistant", "tool")]
    call = {"role": "assistant", "tool_calls": [{"function": {"name": text}}]}
    raw = [json.dumps(item) for item in (*items, call, text)]
    append_items(who=who, session_id=session.id, items=[*raw, '"\\ud800 \\u0000"'])
    record_transition(
        who=who,
        run_id=run.id,
        fence=run.fence,
        expected_version=0,
        facts={"said": Claim(value=text, provenance="model", reference=text[:500])},
        reason=text,
    )
    return stage.ask(
        run,
        tool="free",  # unheard of: any arguments are taken
        arguments={"text": text, text[:60]: {text[:60]: [text, {text[:40]: 1}]}},
        target={text[:60]: text},
        explanation=text,
        tool_call_id=text[:255],
    )


def pages(bob: Reader, request: Request) -> dict[str, Any]:
    return {
        "case": bob.get(f"queue/{request.id}"),
        "edit": bob.get(f"requests/{request.id}/edit"),
        "run": bob.get(f"runs/{request.run_id}"),
        "runs": bob.get("runs"),
    }


@pytest.mark.parametrize("name", CORPUS)
def test_it_is_inert_on_every_page(stage: Stage, name: str) -> None:
    text = CORPUS[name]
    request, bob = ask(stage, text), reader(stage)
    for page, response in pages(bob, request).items():
        assert response.status_code == 200, page
        elements = Elements(response.content.decode())
        assert_inert(elements)
        if page != "edit":  # its fields hold the exact text, to be edited
            assert not UNSEEN.search(elements.words), page


def assert_inert(elements: Elements) -> None:
    tags = {tag for tag, _ in elements.found}
    assert not tags & {"img", "iframe", "object", "embed", "style", "base"}
    for tag, given in elements.found:
        assert not [name for name in given if name.startswith("on")], tag
        href = str(given.get("href") or given.get("src") or given.get("action") or "")
        assert not href or href.startswith(("/", "#")), href


@pytest.mark.parametrize("name", ["bidi", "invisible", "homoglyph", "blank"])
def test_what_hides_is_counted_and_shown(stage: Stage, name: str) -> None:
    request, bob = ask(stage, CORPUS[name]), reader(stage)
    case = bob.case(request.id)
    assert case.exact.disguised > 0
    row = next(row for row in bob.queue().rows if row.id == str(request.id))
    assert row.disguised > 0
    words = Elements(bob.get(f"queue/{request.id}").content.decode()).words
    assert "hide" in words
    assert {"blank": "299 blank lines"}.get(name, "U+") in words


def test_a_reviewers_words_are_as_inert_as_an_agents(stage: Stage) -> None:
    request, bob = ask(stage, "plain"), reader(stage)
    reason = CORPUS["script"] + CORPUS["bidi"]
    stage.answer(request, verdict=Decision.Verdict.REJECT, reason=reason)
    for page in ("case", "run"):
        elements = Elements(pages(bob, request)[page].content.decode())
        assert_inert(elements)
        assert not UNSEEN.search(elements.words)


def test_what_was_typed_comes_back_inert(stage: Stage) -> None:
    request, bob = ask(stage, "plain"), reader(stage)
    typed = CORPUS["closing"] + CORPUS["attribute"]
    response = bob.decide(request.id, "approve", digest="0" * 64, reason=typed)
    assert response.status_code == 409
    elements = Elements(response.content.decode())
    assert_inert(elements)
    assert [tag for tag, _ in elements.found].count("h1") == 1
