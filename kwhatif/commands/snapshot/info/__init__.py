"""What is in a snapshot, and what is missing?"""

POSITION = 5
