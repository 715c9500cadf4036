"""The house: settings, doors' addresses, boot checks and embedded services."""
