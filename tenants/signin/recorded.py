"""allauth's pages that change a person's second factors, each change on the record."""

from typing import Any, ClassVar, Final

from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import AddWebAuthnView, RemoveWebAuthnView
from django.http import HttpRequest, HttpResponse

from tenants.access import open_memberships
from tenants.services.signing_in import record_own


class Recorded:
    """A page whose valid form is first put on the record of each of the person's tenants.

    First, as with signing in: nothing changes that nobody could read about.
    """

    request: HttpRequest
    kind: ClassVar[str]
    factor: ClassVar[str]

    def form_valid(self, form: Any) -> HttpResponse:
        for membership in open_memberships(self.request):
            record_own(membership, self.kind, factor=self.factor)
        answer: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        return answer


class ActivateTOTP(Recorded, ActivateTOTPView):  # type: ignore[misc]
    kind, factor = "member.factor_added", "totp"


class DeactivateTOTP(Recorded, DeactivateTOTPView):  # type: ignore[misc]
    kind, factor = "member.factor_removed", "totp"


class AddPasskey(Recorded, AddWebAuthnView):  # type: ignore[misc]
    kind, factor = "member.factor_added", "webauthn"


class RemovePasskey(Recorded, RemoveWebAuthnView):  # type: ignore[misc]
    kind, factor = "member.factor_removed", "webauthn"


class MakeCodes(Recorded, GenerateRecoveryCodesView):  # type: ignore[misc]
    kind, factor = "member.factor_added", "recovery_codes"


activate_totp: Final = ActivateTOTP.as_view()
deactivate_totp: Final = DeactivateTOTP.as_view()
add_passkey: Final = AddPasskey.as_view()
remove_passkey: Final = RemovePasskey.as_view()
make_codes: Final = MakeCodes.as_view()
