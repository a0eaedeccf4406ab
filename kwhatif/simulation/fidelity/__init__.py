"""What an answer stands on, and what it lacks."""
