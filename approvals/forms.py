"""The forms of the deciding pages: what arrives is bounded, and of one of few shapes."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms

from approvals.chat import CHAT_TYPES
from approvals.happenings import EVENT_TYPES
from approvals.models import Decision
from approvals.models.notice import Pace
from approvals.notices import NOTICES
from approvals.presentation.reading import Misread, read_reply
from approvals.services.case import Answer
from kernel.problems import Problem
from kernel.strict_json import parse

LONGEST: Final = 4_000  # characters of a reason, as the sheets say
LONGEST_TEMPLATE: Final = 200
ANSWER_BYTES: Final = 256 * 1024
NOT_OURS: Final = "This form is not one of ours, or it arrived in part."


class AnswerForm(forms.Form):
    """Verdict, digest and what belongs to it; lines end as they were typed."""

    verdict = forms.ChoiceField(choices=Decision.Verdict.choices)
    digest = forms.RegexField(r"^[0-9a-f]{64}$")
    reason = forms.CharField(required=False, max_length=LONGEST, strip=False)
    template = forms.CharField(required=False, max_length=LONGEST_TEMPLATE)
    response = forms.CharField(required=False, max_length=LONGEST, strip=False)
    on_behalf_of = forms.UUIDField(required=False)
    arguments = forms.CharField(required=False, max_length=ANSWER_BYTES, strip=False)

    def answer(self, response_schema: Mapping[str, Any] | None) -> Answer:
        """What was said. Raises `Flawed` with a sentence for each field."""
        if not self.is_valid():
            raise Flawed(self._flaws())
        said = self.cleaned_data
        verdict = Decision.Verdict(said["verdict"])
        return Answer(
            verdict=verdict,
            digest=bytes.fromhex(said["digest"]),
            reason=self._reason(),
            arguments=self._arguments() if verdict == "edit" else None,
            response=self._reply(response_schema) if verdict == "respond" else None,
            on_behalf_of=said["on_behalf_of"],
        )

    def _reason(self) -> str:
        """What was chosen, then what was typed. Raises `Flawed` for too much of it."""
        said = self.cleaned_data
        both = (said["template"], _lines(said["reason"]))
        whole = " ".join(text for text in both if text.strip())
        if len(whole) > LONGEST:
            raise Flawed({"reason": f"A reason has at most {LONGEST:,} characters."})
        return whole

    def _flaws(self) -> dict[str, str]:
        found = {name: str(errors[0]) for name, errors in self.errors.items()}
        if found.keys() & {"verdict", "digest"}:
            found[""] = NOT_OURS
        return found

    def _arguments(self) -> dict[str, Any]:
        try:
            said = parse(self.cleaned_data["arguments"].encode(), limit=ANSWER_BYTES)
        except Problem as problem:
            raise Flawed({"": problem.detail}) from problem
        if not isinstance(said, dict):
            raise Flawed({"": NOT_OURS})
        return said

    def _reply(self, schema: Mapping[str, Any] | None) -> Any:
        if not schema:
            return self._text()
        read = read_reply(self.data, schema)
        if isinstance(read, Misread):
            raise Flawed(read.errors)
        return read.arguments

    def _text(self) -> str:
        text = _lines(self.cleaned_data["response"])
        if not text.strip():
            raise Flawed({"response": "Write the answer that the run continues with."})
        return text


class ReasonForm(forms.Form):
    """Why an approval is taken back."""

    reason = forms.CharField(max_length=LONGEST)


class TakeBackForm(forms.Form):
    """Which answer is taken back: the one to this digest."""

    digest = forms.RegexField(r"^[0-9a-f]{64}$")


class GlassForm(forms.Form):
    """Why the glass is broken; and, in the second step, that it is to be."""

    reason = forms.CharField(max_length=LONGEST)
    digest = forms.RegexField(r"^[0-9a-f]{64}$")
    confirm = forms.BooleanField(required=False)

    @property
    def digest_bytes(self) -> bytes:
        """Of what was on the screen."""
        return bytes.fromhex(self.cleaned_data["digest"])


class ReviewForm(forms.Form):
    """What a second person says of a glass that was broken."""

    review = forms.ChoiceField(
        choices=Decision.Review.choices,
        error_messages={"required": "Choose one.", "invalid_choice": "Choose one."},
    )
    words = forms.CharField(
        max_length=LONGEST,
        error_messages={"required": "Say what you found: the auditor reads it."},
    )


class OutcomeForm(forms.Form):
    """What came of an effect that only a person can find out about."""

    outcome = forms.ChoiceField(
        choices=[(one, one) for one in ("confirmed", "failed", "absent")]
    )
    evidence = forms.CharField(max_length=LONGEST)
    external_id = forms.CharField(max_length=255, required=False)


class WebhookForm(forms.Form):
    """Where somebody outside is told, and of what; the verb judges both."""

    url = forms.CharField(max_length=2000)
    description = forms.CharField(max_length=200, required=False)
    event_types = forms.MultipleChoiceField(choices=[(one, one) for one in EVENT_TYPES])
    with_arguments = forms.BooleanField(required=False)


class ChatForm(forms.Form):
    """Of what a chat is told; its address is written once, and may be left as it is."""

    url = forms.CharField(max_length=2000)
    description = forms.CharField(max_length=200, required=False)
    event_types = forms.MultipleChoiceField(choices=[(one, one) for one in CHAT_TYPES])
    queue_id = forms.UUIDField(required=False)


class ChatChangeForm(ChatForm):
    """The same for a chat that has an address: empty leaves it."""

    url = forms.CharField(max_length=2000, required=False)


class NotificationsForm(forms.Form):
    """What somebody is told of by mail, and when; the verb judges zone and hours."""

    daily_at = forms.TimeField()
    quiet_from = forms.TimeField(required=False)
    quiet_until = forms.TimeField(required=False)
    zone = forms.CharField(max_length=64)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in NOTICES:
            self.fields[kind] = forms.TypedChoiceField(
                choices=Pace.choices, coerce=Pace
            )


class LeaveForm(forms.Form):
    """Who is asked instead, and on which days; the verb judges all of it."""

    delegate = forms.UUIDField()
    first_day = forms.DateField(input_formats=["%Y-%m-%d"])
    last_day = forms.DateField(input_formats=["%Y-%m-%d"])
    note = forms.CharField(required=False)


class Flawed(Exception):
    """The form cannot be sent on: `errors` has a sentence for each field's name."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(errors)
        self.errors = errors


def _lines(text: str) -> str:
    """Browsers post CR LF for every line that was typed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
