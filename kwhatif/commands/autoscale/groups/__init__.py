"""Which node groups does a snapshot show? Prints a document to be completed."""

POSITION = 3
