"""Why a run took an action: the parts that counted, from rows, and their picture."""
