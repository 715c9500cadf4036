"""The reviewers' pages: each view reads the request, calls one verb or query, renders."""
