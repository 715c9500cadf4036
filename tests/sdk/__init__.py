"""The SDK, against a real installation and against its own fake."""
