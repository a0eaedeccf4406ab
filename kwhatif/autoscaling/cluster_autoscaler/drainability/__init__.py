"""Whether a pod may be moved from its node: rules that are tried in order until one decides."""
