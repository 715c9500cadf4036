"""Drills: incidents exercised on purpose, each with a verdict (docs/drills.md)."""
