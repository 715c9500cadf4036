"""Bodies in the frameworks' own shapes. What they do not know is refused here as well.

`keyturn` is the one member of ours: where the question belongs, and what it may shorten.
"""

from collections.abc import Mapping
from typing import Any, Final

from rest_framework import serializers

from approvals.asks import Ask
from approvals.serializers import seconds
from approvals.services.request import Around
from checkpoints.definition import TOOL_NAME
from checkpoints.models import Risk
from sessions.serializers import Text, Word
from tenants.rest.strict import StrictSerializer

REJECT: Final = "reject"
DECISIONS: Final = ("approve", "edit", REJECT, "respond")
MANY: Final = 50
_MAY: Final = {
    "allow_accept": "approve",
    "allow_edit": "edit",
    "allow_respond": "respond",
}


class AroundSerializer(StrictSerializer):
    """Which run or session it is asked in, on whose behalf, how risky and how long."""

    run = serializers.UUIDField(required=False)
    session = serializers.UUIDField(required=False)
    subject = Text(required=False, max_length=255)
    risk = serializers.ChoiceField(Risk.choices, required=False)
    decide_within = seconds()
    use_within = seconds()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A run has its session, and a session its subject: nothing is passed over."""
        given = [name for name in ("run", "session", "subject") if name in attrs]
        for name in given[1:]:
            known = f"It is given with the {given[0]}."
            raise serializers.ValidationError({name: known})
        return attrs


class ActionRequestSerializer(StrictSerializer):
    """One action: what it is called, with which arguments, and why."""

    name = Word(TOOL_NAME)
    args = serializers.DictField()
    description = Text(required=False, allow_blank=True, max_length=20_000)


class ReviewConfigSerializer(StrictSerializer):
    """Which answers the framework takes for actions of that name."""

    action_name = Word(TOOL_NAME)
    allowed_decisions = serializers.ListField(
        child=serializers.ChoiceField(DECISIONS), allow_empty=False, max_length=20
    )


class HITLRequestSerializer(StrictSerializer):
    """LangChain's `HITLRequest`: several actions, and how each may be answered."""

    action_requests = serializers.ListField(
        child=ActionRequestSerializer(), allow_empty=False, max_length=MANY
    )
    review_configs = serializers.ListField(
        child=ReviewConfigSerializer(), allow_empty=False, max_length=MANY
    )
    keyturn = AroundSerializer(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """An action that nothing says how to answer is no question."""
        known = {one["action_name"] for one in attrs["review_configs"]}
        for index, one in enumerate(attrs["action_requests"]):
            if one["name"] not in known:
                unknown = {"name": "No review_config is for it."}
                raise serializers.ValidationError(
                    {"action_requests": {str(index): unknown}}
                )
        return attrs

    @staticmethod
    def asks(body: Mapping[str, Any]) -> list[Ask]:
        """The questions, in their order. Of several configs for a name all hold."""
        allowed: dict[str, set[str]] = {}
        for one in body["review_configs"]:
            name, may = one["action_name"], set(one["allowed_decisions"])
            allowed[name] = allowed.get(name, may) & may
        return [
            _ask(
                one["name"],
                one["args"],
                one.get("description", ""),
                allowed[one["name"]],
                body,
            )
            for one in body["action_requests"]
        ]


class ActionSerializer(StrictSerializer):
    """The older form of an action."""

    action = Word(TOOL_NAME)
    args = serializers.DictField()


class InterruptConfigSerializer(StrictSerializer):
    """What a person may do: ignoring it is always possible."""

    allow_ignore = serializers.BooleanField()
    allow_respond = serializers.BooleanField()
    allow_edit = serializers.BooleanField()
    allow_accept = serializers.BooleanField()


class HumanInterruptSerializer(StrictSerializer):
    """LangGraph's `HumanInterrupt`: one action."""

    action_request = ActionSerializer()
    config = InterruptConfigSerializer()
    description = Text(
        required=False, allow_null=True, allow_blank=True, max_length=20_000
    )
    keyturn = AroundSerializer(required=False)

    @staticmethod
    def asks(body: Mapping[str, Any]) -> list[Ask]:
        action, config = body["action_request"], body["config"]
        allowed = {answer for name, answer in _MAY.items() if config[name]}
        why = body.get("description") or ""
        return [_ask(action["action"], action["args"], why, allowed, body)]


class ResumeEntrySerializer(StrictSerializer):
    """AG-UI's answer to one interrupt. It decides nothing."""

    interruptId = serializers.UUIDField()
    status = serializers.ChoiceField(["resolved", "cancelled"])
    payload = serializers.JSONField(required=False, allow_null=True)
    metadata = serializers.DictField(required=False, allow_null=True)


class ResumeSerializer(StrictSerializer):
    """AG-UI's `resume`: what the page sends back about the interrupts of a run."""

    resume = serializers.ListField(
        child=ResumeEntrySerializer(), allow_empty=False, max_length=MANY
    )


def around(body: Mapping[str, Any], fence: int | None) -> Around:
    """What the questions are asked in."""
    told = body.get("keyturn", {})
    return Around(
        subject=told.get("subject", ""),
        session_id=told.get("session"),
        run_id=told.get("run"),
        fence=fence,
    )


def _ask(
    tool: str,
    arguments: Mapping[str, Any],
    explanation: str,
    allowed: set[str],
    body: Mapping[str, Any],
) -> Ask:
    """Rejecting is always possible, whatever the framework was told to expect."""
    told = body.get("keyturn", {})
    return Ask(
        tool=tool,
        arguments=arguments,
        explanation=explanation,
        allowed=[one for one in DECISIONS if one in allowed | {REJECT}],
        risk=told.get("risk"),
        decide_within=told.get("decide_within"),
        use_within=told.get("use_within"),
    )
