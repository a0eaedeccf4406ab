"""What if the cluster were another one? One file an edit."""
