"""What a run asks, who says yes, and the one action that may follow."""
