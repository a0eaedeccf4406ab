"""Expanders, which choose the group to scale up. They run in a chain until one option is left."""
