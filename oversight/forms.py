"""What a person says of a run that waits for one."""

from typing import Final

from django import forms

RELEASE: Final = "release"
ABANDON: Final = "abandon"
LONGEST: Final = 4_000  # characters


class AttendForm(forms.Form):
    """What is to become of the run as it was `seen`, and why."""

    choice = forms.ChoiceField(choices=[(RELEASE, RELEASE), (ABANDON, ABANDON)])
    seen = forms.IntegerField(min_value=0)
    reason = forms.CharField(required=False, max_length=LONGEST)
