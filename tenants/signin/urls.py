"""Second factors and devices, each kept by no cache. allauth looks for these names."""

from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes.views import view_recovery_codes
from allauth.mfa.webauthn import views as webauthn
from django.urls import URLPattern, path
from django.views.decorators.cache import never_cache

from tenants.signin import recorded
from tenants.signin.closed import own_account
from tenants.signin.devices import devices

_PAGES = (
    ("devices/", devices, "usersessions_list"),
    ("2fa/", mfa.index, "mfa_index"),
    ("2fa/authenticate/", mfa.authenticate, "mfa_authenticate"),
    ("2fa/reauthenticate/", mfa.reauthenticate, "mfa_reauthenticate"),
    ("2fa/totp/activate/", recorded.activate_totp, "mfa_activate_totp"),
    ("2fa/totp/deactivate/", recorded.deactivate_totp, "mfa_deactivate_totp"),
    ("2fa/recovery-codes/", view_recovery_codes, "mfa_view_recovery_codes"),
    (
        "2fa/recovery-codes/generate/",
        recorded.make_codes,
        "mfa_generate_recovery_codes",
    ),
    ("2fa/webauthn/", webauthn.list_webauthn, "mfa_list_webauthn"),
    ("2fa/webauthn/add/", recorded.add_passkey, "mfa_add_webauthn"),
    (
        "2fa/webauthn/reauthenticate/",
        webauthn.reauthenticate_webauthn,
        "mfa_reauthenticate_webauthn",
    ),
    (
        "2fa/webauthn/keys/<int:pk>/remove/",
        recorded.remove_passkey,
        "mfa_remove_webauthn",
    ),
    (
        "2fa/webauthn/keys/<int:pk>/edit/",
        webauthn.edit_webauthn,
        "mfa_edit_webauthn",
    ),
)

_OPEN = frozenset({"usersessions_list"})

urlpatterns: list[URLPattern] = [
    path(route, never_cache(view if name in _OPEN else own_account(view)), name=name)
    for route, view, name in _PAGES
]
