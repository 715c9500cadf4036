from tenants.models.agents import Agent, AgentOwner, ApiKey, AskCount, KeyUse
from tenants.models.base import TenantForeignKey, TenantModel
from tenants.models.data_key import DataKey
from tenants.models.idempotency import IdempotencyRecord
from tenants.models.invitation import Invitation, Mail
from tenants.models.people import Group, Member, Role, User
from tenants.models.secret_pattern import SecretPattern
from tenants.models.single_sign_on import (
    ExternalIdentity,
    GroupMapping,
    JoinLink,
    SingleSignOn,
)
from tenants.models.tenant import Tenant

__all__ = [
    "Agent",
    "AgentOwner",
    "ApiKey",
    "AskCount",
    "DataKey",
    "ExternalIdentity",
    "Group",
    "GroupMapping",
    "IdempotencyRecord",
    "Invitation",
    "JoinLink",
    "KeyUse",
    "Mail",
    "Member",
    "Role",
    "SecretPattern",
    "SingleSignOn",
    "Tenant",
    "TenantForeignKey",
    "TenantModel",
    "User",
]
