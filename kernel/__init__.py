"""Small, pure ground everything stands on: no tables, no HTTP."""
