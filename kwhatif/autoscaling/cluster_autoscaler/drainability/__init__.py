"""May a pod be moved from its node? One file a rule; they are asked in turn until one speaks."""
