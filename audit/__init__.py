"""What happened: a signed chain of entries for each tenant."""
