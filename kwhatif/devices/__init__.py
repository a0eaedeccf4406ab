"""Dynamic resource allocation: which devices a claim gets on a node, by upstream's allocator, evaluated for many nodes
at once.
"""
