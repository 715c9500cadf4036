"""What a reviewer's pages show: rows of one tenant, put into presentation's values.

Read-only, and always inside the tenant's scope. Nothing is read for each row of a list:
what rows need is read for all of them at once.
"""
