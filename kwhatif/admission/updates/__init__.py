"""What becomes of an object that is there already: whose fields change, and what must not change."""
