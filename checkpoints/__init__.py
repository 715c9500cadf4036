"""Where a run stopped, what it can do and what it touched."""
