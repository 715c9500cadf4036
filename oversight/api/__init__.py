"""The API's doors of those who look back: keys that read the audit log and nothing else."""
