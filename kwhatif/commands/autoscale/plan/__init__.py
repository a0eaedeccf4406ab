"""Which nodes would it add or remove? What is done where no command is named."""

POSITION = 1
