"""How Kubernetes' programs, written in Go, read, refuse and print values; nothing here knows of scheduling."""
