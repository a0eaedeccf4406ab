"""Whether a pod may be moved from its node: one file a rule; they are tried in order until one decides."""
