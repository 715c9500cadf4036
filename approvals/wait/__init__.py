"""Waiting without holding a thread or a connection: one LISTEN for each process."""
