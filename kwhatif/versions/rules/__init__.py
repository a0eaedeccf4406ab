"""What differs by version, a table an area.

A row is a rule under the name by which code asks for it: whose it is, since or until which minor it holds or behind
which gate it is, where upstream has it, and what it says.
"""
