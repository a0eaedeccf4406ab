"""Copy the sample clusters and manifests that examples name."""

POSITION = 160
