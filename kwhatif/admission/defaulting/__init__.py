"""What the API server fills in: defaults of fields, and what it derives from an object before it is checked."""
