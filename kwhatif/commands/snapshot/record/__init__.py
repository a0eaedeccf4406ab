"""Write down a live cluster and all that changes there."""

POSITION = 2
