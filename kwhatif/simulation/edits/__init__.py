"""What-if edits of the cluster, a file each."""
