"""The server: thin doors (HTTP and others) onto the questions of the commands, over a cluster that is kept loaded."""
