"""Answer these questions over HTTP, from a cluster that is kept loaded."""

POSITION = 135
