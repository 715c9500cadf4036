"""The agents' door to sessions, their items and their runs."""
