"""The filters of ``kubectl drain``: which pods of a node it would evict, skip, or refuse to touch.

Upstream: k8s.io/kubectl/pkg/drain/filters.go.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec

from kwhatif.api.core import Pod


class Intent(msgspec.Struct, frozen=True):
    """What drain does with a pod, and why."""

    what: Literal["evict", "ignore", "refuse"]
    reason: str = ""
    warns: bool = False


class Filters(msgspec.Struct, frozen=True):
    """The flags of drain. ``daemon_sets`` are those that exist (``namespace/name``), None if that is unknown."""

    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    force: bool = False
    daemon_sets: Collection[str] | None = None

    def intent(self, pod: Pod) -> Intent:
        """The first refusal counts, else the last warning."""
        verdict = Intent("evict")
        for step in (
            self._filter_daemon_set,
            self._filter_mirror_pod,
            self._filter_local_storage,
            self._filter_unreplicated,
        ):
            intent = step(pod)
            if intent is None:
                continue
            if intent.what != "evict":
                return intent
            verdict = intent
        return verdict

    def _filter_daemon_set(self, pod: Pod) -> Intent | None:
        owner = pod.controller
        if owner is None or owner.kind != "DaemonSet" or pod.is_finished:
            return None
        if self.daemon_sets is not None and f"{pod.namespace}/{owner.name}" not in self.daemon_sets:
            gone = f'daemonsets.apps "{owner.name}" not found'
            return Intent("evict", gone, warns=True) if self.force else Intent("refuse", gone)
        if not self.ignore_daemonsets:
            return Intent("refuse", "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)")
        return Intent("ignore", "ignoring DaemonSet-managed Pods", warns=True)

    def _filter_mirror_pod(self, pod: Pod) -> Intent | None:
        return Intent("ignore", "a static pod") if pod.is_mirror else None

    def _filter_local_storage(self, pod: Pod) -> Intent | None:
        local = any(volume.empty_dir is not None for volume in pod.spec.volumes or ())
        if not local or pod.is_finished:
            return None
        if not self.delete_emptydir_data:
            return Intent("refuse", "cannot delete Pods with local storage (use --delete-emptydir-data to override)")
        return Intent("evict", "deleting Pods with local storage", warns=True)

    def _filter_unreplicated(self, pod: Pod) -> Intent | None:
        if pod.is_finished or pod.controller is not None:
            return None
        if not self.force:
            return Intent("refuse", "cannot delete Pods that declare no controller (use --force to override)")
        return Intent("evict", "deleting Pods that declare no controller", warns=True)
