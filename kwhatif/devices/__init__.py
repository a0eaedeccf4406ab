"""Which devices a claim gets on a node: upstream's allocator, and what it takes to answer for many nodes at once."""
