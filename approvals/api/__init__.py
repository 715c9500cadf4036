"""The agents' door, and the one route on it that only people may take."""
