"""How managed services and controllers replace the nodes of a pool: plans as values, a file for all their defaults.

Nothing here knows of clusters or schedulers.
"""
