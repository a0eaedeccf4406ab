"""Answer these questions to an agent, over the Model Context Protocol."""

POSITION = 136
