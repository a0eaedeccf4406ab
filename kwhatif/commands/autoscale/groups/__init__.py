"""Print the node groups that a snapshot shows, as a document to complete."""

POSITION = 3
