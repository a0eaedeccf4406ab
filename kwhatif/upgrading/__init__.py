"""Replacement of a pool's nodes by managed services and controllers: plans as values, and a file of all defaults.

Nothing here depends on clusters or schedulers.
"""
