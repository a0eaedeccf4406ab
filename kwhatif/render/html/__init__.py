"""A report as one page to look at: no network, nothing beside it, and every name in it but text."""
