"""What the API server does to a pod before the scheduler sees it."""
