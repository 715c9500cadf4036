"""`manage.py drill`: the installation that a drill starts for itself, to harm it."""
