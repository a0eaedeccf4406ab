"""Print the script that completes words in a shell."""

POSITION = 170
