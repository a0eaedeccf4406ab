"""The Common Expression Language as Kubernetes has it: text ─► tree ─► types checked ─► a function to call."""
