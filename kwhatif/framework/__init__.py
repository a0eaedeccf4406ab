"""Extension points, statuses, and the runner that calls plugins."""
