"""A provider's compaction is machine state: kept and handed on unedited, or not used."""

import json

from tests.approvals.context.talking import Desk, call, dropped, result, said, texts

COMPACTION = (
    '{"type":"compaction" ,"id":"cmp_1","encrypted_content":"gAAA+/=\\u0000", "n":1.50}'
)


def test_it_stands_for_what_came_before_it_unedited(desk: Desk) -> None:
    desk.say(said("user", "OLD WORDS"), call("a"), result("a", "seen"))
    desk.say(COMPACTION, said("user", "Go on."))
    body = desk.get("?shape=openai")
    assert COMPACTION in body.content.decode()
    context = body.json()
    assert "OLD WORDS" not in json.dumps(context["input"])
    assert dropped(context)["item:1"] == "stands in the provider's own compaction"


def test_other_shapes_keep_the_history_instead(desk: Desk) -> None:
    desk.say(said("user", "OLD WORDS"), COMPACTION, said("user", "Go on."))
    for shape in ("pieces", "anthropic"):
        context = desk.context(f"?shape={shape}")
        assert "OLD WORDS" in json.dumps(context["input"])
        assert dropped(context)["item:2"] == "another provider's machine state"


def test_a_call_that_waits_before_it_survives(desk: Desk) -> None:
    desk.say(call("waits", "pay", amount="7.00"), COMPACTION)
    context = desk.context("?shape=openai")
    pending = [row for row in context["included"] if row["kind"] == "pending_call"]
    assert len(pending) == 1
    assert "7.00" in json.dumps(context["input"])


def test_one_that_would_part_a_pair_is_not_used(desk: Desk) -> None:
    desk.say(said("user", "OLD WORDS"), call("a"), COMPACTION, result("a", "seen"))
    context = desk.context("?shape=openai")
    said_ = json.dumps(context["input"])
    assert "OLD WORDS" in said_
    assert "gAAA" not in said_
    assert dropped(context)["item:3"].startswith("it would part a call")
    calls = [one["call_id"] for one in context["input"] if "call_id" in one]
    assert calls == ["a", "a"]


def test_what_authority_rests_on_is_the_same_with_it_and_without(desk: Desk) -> None:
    desk.state(po_matched=True)
    desk.say(said("user", "Pay."), call("c1", "pay"))
    desk.stage.ask(desk.stage.fresh(desk.run), tool_call_id="c1")
    kinds = ("identity", "approval", "policy", "fact", "effect", "position", "limit")
    before = {kind: texts(desk.context(), kind) for kind in kinds}
    ours_before = desk.context("?shape=openai")["input"][0]
    desk.say(COMPACTION)
    assert {kind: texts(desk.context(), kind) for kind in kinds} == before
    assert desk.context("?shape=openai")["input"][0] == ours_before


def test_the_newest_of_several_counts(desk: Desk) -> None:
    desk.say(COMPACTION, said("user", "MIDDLE"), COMPACTION.replace("gAAA", "gBBB"))
    said_ = json.dumps(desk.context("?shape=openai")["input"])
    assert "gBBB" in said_
    assert "gAAA" not in said_
    assert "MIDDLE" not in said_
