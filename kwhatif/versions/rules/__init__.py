"""Behaviour that differs by version, one table for each area.

A row is a rule under the name by which code asks for it: its plugins, since or until which minor it holds or behind
which gate it is, its upstream source, and a sentence about it.
"""
