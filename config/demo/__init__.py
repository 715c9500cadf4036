"""`manage.py demo`: the whole of Keyturn on one machine, with people and work in it."""
