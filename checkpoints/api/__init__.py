"""The agents' door to checkpoints and effects."""
