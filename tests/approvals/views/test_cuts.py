"""Pages say how many secrets were cut out of a text, in words of ours alone."""

import pytest

from approvals.presentation.cuts import cut_words
from tests.api import Api
from tests.approvals.stage import Stage
from tests.approvals.views.browsing import reader

NPM = "np" + "m_" + "aB3dE5gH7jK9" * 3
SHOP = "shp" + "at_" + "0a1b2c3d" * 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing", ""),
        ("[redacted]", ""),
        ("[redacted: npm token]", "1 secret cut out: npm token"),
        (
            "[redacted: npm token, 00aa11bb] [redacted: GitHub token, 00aa11bb]"
            " [redacted: npm token, 00aa11bc]",
            "3 secrets cut out: GitHub token, npm token (2)",
        ),
        ("[redacted: Carol approved this]", "1 secret cut out: other"),
        ("[redacted: halden key, 00aa11bb]", "1 secret cut out: other"),
    ],
)
def test_marks_are_counted_and_no_strangers_words_are_said(
    text: str, words: str
) -> None:
    assert cut_words(text) == words


def test_case_context_and_run_say_what_was_cut(stage: Stage) -> None:
    run = stage.run()
    api = Api.of(stage.house.robot)
    items = {"items": [{"role": "user", "content": f"{NPM} and {SHOP}"}]}
    assert api.post(f"sessions/{run.session_id}/items", items).status_code == 201
    claim = {"value": f"It is {SHOP}", "provenance": "model"}
    facts = {"facts": {"note": claim}, "reason": f"Read {NPM}"}
    place = f"runs/{run.id}/transitions"
    answer = api.post(place, facts, fence=run.fence, If_Match='"0"')
    assert answer.status_code in {200, 201}, answer.content
    request = stage.ask(stage.fresh(run), explanation=f"With {NPM} {NPM}")

    browser = reader(stage)
    case = browser.get(f"queue/{request.id}").content.decode()
    for words in (
        "2 secrets cut out: Shopify token, npm token",
        "1 secret cut out: Shopify token",
        "2 secrets cut out: npm token (2)",
    ):
        assert words in case
    context = browser.get(f"requests/{request.id}/context").content.decode()
    assert "2 secrets cut out: Shopify token, npm token" in context
    story = browser.get(f"runs/{run.id}").content.decode()
    assert "1 secret cut out: Shopify token" in story
    assert "1 secret cut out: npm token" in story
    for page in (case, context, story):
        assert NPM not in page
        assert SHOP not in page
