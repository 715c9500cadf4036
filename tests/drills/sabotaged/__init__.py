"""The doors of an installation in which a guard is out of order: `SABOTAGE` says which.

`own_ground(app=…, asgi=…)` starts its worker and its web process through these modules.
"""
