"""What people say of a run that waits for one, and of what they administer."""

import re
from typing import Any, Final
from uuid import UUID

from django import forms

from approvals.services.queues import RIGHTS
from sessions.services.retention import MOST_DAYS
from tenants.models import Role
from tenants.scopes import ALONE, SCOPES
from tenants.services.guests import LONGEST as LONGEST_STAY

RELEASE: Final = "release"
ABANDON: Final = "abandon"
LONGEST: Final = 4_000  # characters
UUID_TEXT: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
OVERLAPS: Final = (0, 1, 24, 168)
"""After how many hours a key that is rotated ends."""


class HoldForm(forms.Form):
    """Why a session must not be erased for now."""

    reason = forms.CharField(
        label="Why it is held",
        max_length=LONGEST,
        help_text="Who oversees the tenant reads it.",
        widget=forms.Textarea({"rows": 2}),
    )


class LiftForm(forms.Form):
    """Which hold ends, and why."""

    hold = forms.UUIDField()
    reason = forms.CharField(max_length=LONGEST)


class TermForm(forms.Form):
    """For how many days a kind of work is kept: without a kind all others, without days
    for ever."""

    kind = forms.CharField(required=False, max_length=63)
    days = forms.IntegerField(required=False, min_value=1, max_value=MOST_DAYS)


class AttendForm(forms.Form):
    """What is to become of the run as it was `seen`, and why."""

    choice = forms.ChoiceField(choices=[(RELEASE, RELEASE), (ABANDON, ABANDON)])
    seen = forms.IntegerField(min_value=0)
    reason = forms.CharField(required=False, max_length=LONGEST)


class AgentForm(forms.Form):
    """A new agent, and the first who answers for it."""

    name = forms.CharField(max_length=63)
    member = forms.UUIDField()


class MemberForm(forms.Form):
    """One member, chosen from a list of ours."""

    member = forms.UUIDField()


class KeyForm(forms.Form):
    """A new key: what it is for, what it opens, and for how long."""

    name = forms.CharField(max_length=100)
    environment = forms.CharField(max_length=32)
    scopes = forms.MultipleChoiceField(
        choices=list((SCOPES | ALONE).items()),
        error_messages={"required": "A key that opens nothing is of no use."},
    )
    days = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=3660,
        error_messages={"invalid": "Write a whole number of days, or nothing."},
    )


class NudgesForm(forms.Form):
    """After how many minutes people are reminded, and whom a queue asks too, when."""

    remind = forms.IntegerField(required=False, min_value=1, max_value=43_200)
    escalate = forms.IntegerField(required=False, min_value=1, max_value=43_200)
    to = forms.RegexField(f"^(group|queue):{UUID_TEXT}$", required=False)


class OneKeyForm(forms.Form):
    """One key of the agent."""

    key = forms.UUIDField()


class RotationForm(OneKeyForm):
    """For how long the former key opens the door as well."""

    hours = forms.TypedChoiceField(
        choices=[(hours, str(hours)) for hours in OVERLAPS], coerce=int
    )


class QuotaForm(forms.Form):
    """How many questions in one minute; nothing: as many as the tenant says."""

    per_minute = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=100_000,
        error_messages={"invalid": "Write a whole number, or nothing."},
    )


class TenantQuotaForm(QuotaForm):
    """How many for each agent that has no number of its own."""

    per_minute = forms.IntegerField(min_value=1, max_value=100_000)


class StopForm(forms.Form):
    """Why something is stopped, or works again."""

    reason = forms.CharField(
        max_length=LONGEST,
        error_messages={"required": "Say why, for whoever reads the audit log."},
    )


class OneLetterForm(forms.Form):
    """One letter that was given up."""

    letter = forms.UUIDField()


class GroupsField(forms.TypedMultipleChoiceField):
    """Some of the tenant's groups, by id; the verb knows which there are."""

    def __init__(self, **options: Any) -> None:
        super().__init__(coerce=UUID, **options)

    def valid_value(self, value: str) -> bool:
        return re.fullmatch(UUID_TEXT, value) is not None


class RoleForm(forms.Form):
    """Which role a member has."""

    role = forms.ChoiceField(choices=Role.choices)


class InvitationForm(RoleForm):
    """Who is asked in, known here or not, and what they are called."""

    email = forms.CharField(max_length=254)
    name = forms.CharField(max_length=200, required=False)
    groups = GroupsField(required=False)


class OneInvitationForm(forms.Form):
    """One open invitation."""

    invitation = forms.UUIDField()


class StayForm(forms.Form):
    """For how many days from now a guest audits."""

    days = forms.IntegerField(
        min_value=1,
        max_value=LONGEST_STAY.days,
        error_messages={"invalid": "Write a whole number of days."},
    )


class GuestForm(StayForm):
    """Who audits for a while, known here or not."""

    email = forms.CharField(max_length=254)
    name = forms.CharField(max_length=200, required=False)


class GroupForm(forms.Form):
    """A new group."""

    name = forms.CharField(max_length=100)


class OneGroupForm(forms.Form):
    """One group, chosen from a list of ours."""

    group = forms.UUIDField()


class QueueForm(forms.Form):
    """A new queue; the default one takes what no policy routes."""

    slug = forms.CharField(max_length=63)
    name = forms.CharField(max_length=100)
    default = forms.BooleanField(required=False)


class HolderForm(forms.Form):
    """A group or a member, chosen from lists of ours."""

    holder = forms.RegexField(
        rf"^(group|member):{UUID_TEXT}$",
        error_messages={"required": "Choose who is given it."},
    )


class RightForm(HolderForm):
    """One right that somebody holds."""

    right = forms.ChoiceField(choices=[(right, right) for right in RIGHTS])


class GiftForm(HolderForm):
    """Rights that somebody is given."""

    rights = forms.MultipleChoiceField(
        choices=[(right, right) for right in RIGHTS],
        error_messages={"required": "Tick what they are given."},
    )


class SingleSignOnForm(RoleForm):
    """A tenant's provider. The secret may stay as it is."""

    issuer = forms.CharField(max_length=500)
    client_id = forms.CharField(max_length=255)
    secret = forms.CharField(required=False, max_length=1_000, strip=False)
    groups_claim = forms.CharField(required=False, max_length=100)
    admits = forms.BooleanField(required=False)


class MappingForm(OneGroupForm):
    """What a value of the claim stands for."""

    value = forms.CharField(max_length=255)


class OneMappingForm(forms.Form):
    """One of the mappings."""

    mapping = forms.UUIDField()


class JoinLinkForm(RoleForm):
    """Who is invited to enter by the provider."""

    name = forms.CharField(max_length=200)


class OneLinkForm(forms.Form):
    """One of the links to join."""

    link = forms.UUIDField()


class OneIdentityForm(forms.Form):
    """One external identity of a member."""

    identity = forms.UUIDField()
