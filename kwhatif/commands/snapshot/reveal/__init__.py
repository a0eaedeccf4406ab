"""Put the names back into an answer about a redacted snapshot."""

POSITION = 9
