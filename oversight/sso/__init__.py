"""Signing in with a tenant's own OpenID provider: the door, outside of any tenant.

The authorisation code flow with PKCE, state and nonce, and an address of its own for each
tenant's answers. Whatever is fetched is fetched by `checkpoints.outbound`.
"""
