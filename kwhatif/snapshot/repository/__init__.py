"""Manifests of a repository, read from disk or from a revision of git, as kubectl, Argo CD or Flux would deploy them.

Kustomizations and charts are rendered by the programs that are installed; nothing is fetched from a network.
"""
