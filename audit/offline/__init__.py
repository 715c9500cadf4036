"""What an auditor needs to check an export: one file, Python and `cryptography`."""
