"""Who may act: tenants, their people, agents and keys."""
