"""Pages on which an installation is run: for those who administer the tenant."""
