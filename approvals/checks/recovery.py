"""Is this database the one in which the decisions were made, and not an older copy?"""

from audit.anchors import is_set_back
from kernel.outcome import Refused
from tenants.models import Tenant


def check_recovery(tenant: Tenant) -> Refused | None:
    """Refuses, with `wait`, until an operator ends the tenant's recovery.

    What was done after a backup was taken is not in it: grants that were used look
    live, and effects that happened are missing. The row says so once it was noticed;
    the anchor tells before that.
    """
    if tenant.recovering_since is None and not is_set_back(tenant.id):
        return None
    return Refused(
        "authority.recovery",
        "The database was set back to an earlier state. An operator must look first.",
        "wait",
    )
