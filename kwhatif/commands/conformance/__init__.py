"""``conformance``: recorded scenarios are replayed and compared."""
