"""Every change of who may act, one verb each."""

from tenants.services.accepting import (
    Offer,
    accept_as_newcomer,
    accept_invitation,
    offer_of,
)
from tenants.services.agents import (
    add_agent_owner,
    create_agent,
    disable_agent,
    enable_agent,
    end_agent_ownership,
)
from tenants.services.credentials import Issued, issue_key, revoke_key, rotate_key
from tenants.services.groups import add_to_group, create_group, remove_from_group
from tenants.services.guests import extend_guest, invite_guest
from tenants.services.inviting import (
    Invited,
    invite_member,
    resend_invitation,
    revoke_invitation,
)
from tenants.services.people import (
    add_member,
    add_user,
    change_role,
    deactivate_member,
    reactivate_member,
)
from tenants.services.signing_in import record_sign_in
from tenants.services.tenancy import (
    FirstRun,
    Founded,
    ask_for_second_admin,
    create_tenant,
    first_run,
    is_setup_code,
    start_tenant,
    stop_tenant,
)

__all__ = [
    "FirstRun",
    "Founded",
    "Invited",
    "Issued",
    "Offer",
    "accept_as_newcomer",
    "accept_invitation",
    "add_agent_owner",
    "add_member",
    "add_to_group",
    "add_user",
    "ask_for_second_admin",
    "change_role",
    "create_agent",
    "create_group",
    "create_tenant",
    "deactivate_member",
    "disable_agent",
    "enable_agent",
    "end_agent_ownership",
    "extend_guest",
    "first_run",
    "invite_guest",
    "invite_member",
    "is_setup_code",
    "issue_key",
    "offer_of",
    "reactivate_member",
    "record_sign_in",
    "remove_from_group",
    "resend_invitation",
    "revoke_invitation",
    "revoke_key",
    "rotate_key",
    "start_tenant",
    "stop_tenant",
]
