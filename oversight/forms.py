"""What a person says of a run that waits for one."""

from typing import Final

from django import forms

RELEASE: Final = "release"
ABANDON: Final = "abandon"
LONGEST: Final = 4_000  # characters


class HoldForm(forms.Form):
    """Why a session must not be erased for now."""

    reason = forms.CharField(
        label="Why it is held",
        max_length=LONGEST,
        help_text="Who oversees the tenant reads it.",
        widget=forms.Textarea({"rows": 2}),
    )


class LiftForm(forms.Form):
    """Which hold ends."""

    hold = forms.UUIDField()


class AttendForm(forms.Form):
    """What is to become of the run as it was `seen`, and why."""

    choice = forms.ChoiceField(choices=[(RELEASE, RELEASE), (ABANDON, ABANDON)])
    seen = forms.IntegerField(min_value=0)
    reason = forms.CharField(required=False, max_length=LONGEST)
