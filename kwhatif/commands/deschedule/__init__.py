"""What would the descheduler evict, and what follows?"""

POSITION = 62
