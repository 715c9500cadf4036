"""The interaction: sessions, their items, runs, facts and transitions."""
