"""Which scheduler policy is best for these clusters?"""

POSITION = 90
