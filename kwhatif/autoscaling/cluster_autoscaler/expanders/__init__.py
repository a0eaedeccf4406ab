"""Expanders, which choose the group to scale up: one file each. They run in a chain until one option is left."""
