"""What every API view stands on: strict bodies, problems, replays, pages."""
