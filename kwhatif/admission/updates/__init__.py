"""Updates of stored objects: merging and applying manifests, field ownership, and immutable fields."""
