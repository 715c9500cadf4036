"""Looking at all of it: runs, their history and how they were decided."""
