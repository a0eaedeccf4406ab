"""What the API server refuses in an object's own fields, in upstream's words."""
