"""Replace all names by pseudonyms, so that a snapshot may be shared."""

POSITION = 8
