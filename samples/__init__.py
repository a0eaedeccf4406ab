"""The clusters, manifests and policies that the examples of ``--help`` name, installed as ``kwhatif.samples``."""
