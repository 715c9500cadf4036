"""Who may do what: every combination, against a rule written down beside the code."""
