"""``kwhatif demo``: the files that the examples of ``--help`` name."""
