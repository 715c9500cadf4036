from tenants.models.agents import Agent, AgentOwner, ApiKey
from tenants.models.base import TenantForeignKey, TenantModel
from tenants.models.idempotency import IdempotencyRecord
from tenants.models.people import Group, Member, Role, User
from tenants.models.tenant import Tenant

__all__ = [
    "Agent",
    "AgentOwner",
    "ApiKey",
    "Group",
    "IdempotencyRecord",
    "Member",
    "Role",
    "Tenant",
    "TenantForeignKey",
    "TenantModel",
    "User",
]
