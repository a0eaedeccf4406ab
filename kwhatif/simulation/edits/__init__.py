"""What-if edits of the cluster, one file each."""
