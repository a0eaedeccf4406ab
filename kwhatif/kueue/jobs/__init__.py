"""Jobs made into Workloads, as Kueue's webhooks and job controllers do it."""
