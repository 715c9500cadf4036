"""The Agent Approval Protocol: one more door, for the clients that speak it."""
