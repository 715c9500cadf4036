"""An invoice agent that asks before it acts, and the company system it acts on."""
