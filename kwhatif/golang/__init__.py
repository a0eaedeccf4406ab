"""How Go programs of Kubernetes read, refuse and print values; nothing here depends on scheduling."""
