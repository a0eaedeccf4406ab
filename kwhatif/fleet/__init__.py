"""Many worlds asked one question each, on one machine or on many: knows nothing of schedulers."""
