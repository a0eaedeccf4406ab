"""What the API server does that is particular to a kind: defaults, rules, warnings. One file a kind or a few alike."""
