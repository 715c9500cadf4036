"""The mutations of this room: what was looked at goes on record."""
