"""What the controllers make of a Deployment, StatefulSet, Job, ...: pods, and the plan of an update."""
