"""What the pages that look back show: rows of one tenant, put into plain values."""
