"""How approving goes: measured from rows, for those who oversee a tenant."""
