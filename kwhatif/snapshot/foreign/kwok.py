"""``kwokctl snapshot``: a stream of objects, and after ``--record`` of the changes that came later.

Upstream: kubernetes-sigs/kwok, pkg/kwokctl/snapshot/save.go and pkg/apis/action/v1alpha1/resource_patch_types.go.
"""

from __future__ import annotations


def is_recorded(api_version: str, kind: str) -> bool:
    """Whether this is a later change, which has no name of its own, rather than an object."""
    return kind == "ResourcePatch" and api_version.startswith("action.kwok.x-k8s.io/")
