"""What the pages that look back show, as plain frozen values."""
