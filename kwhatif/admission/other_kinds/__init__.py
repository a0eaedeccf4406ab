"""What the API server does that is particular to a kind that never moves a pod: defaults, tables of rules, warnings."""
