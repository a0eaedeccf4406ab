"""Pages that stood elsewhere on the site: old links lead on."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

MOVED = {
    "architecture": "contributing/architecture",
    "autoscaler": "how-to/cluster-autoscaler",
    "backtest": "how-to/backtest-a-recording",
    "capacity": "how-to/count-free-capacity",
    "chances": "explanation/chances",
    "ci": "how-to/run-in-ci",
    "columns": "contributing/node-columns",
    "conformance": "contributing/conformance",
    "deschedule": "how-to/run-the-descheduler",
    "devices": "how-to/devices",
    "diff": "how-to/compare-policies",
    "drain": "how-to/drain-nodes",
    "dump": "how-to/dump-a-cluster",
    "edits": "how-to/change-the-cluster",
    "explain": "how-to/explain-a-pod",
    "extenders": "how-to/scheduler-extenders",
    "fidelity": "explanation/fidelity",
    "formats": "reference/snapshot-formats",
    "gangs": "how-to/pod-groups",
    "gate": "how-to/gate-changes",
    "gate-in-ten-minutes": "tutorials/gate-my-pull-requests",
    "gitops": "how-to/gitops-repositories",
    "karpenter": "how-to/karpenter",
    "kueue": "how-to/kueue",
    "live": "how-to/ask-a-live-cluster",
    "looking": "how-to/inspect-snapshots",
    "operators": "how-to/operators",
    "outage": "how-to/lose-a-zone",
    "outcome": "reference/verdicts-and-exit-codes",
    "place": "how-to/place-pods",
    "plugins": "how-to/write-a-scheduler-plugin",
    "policy": "reference/scheduler-policies",
    "record": "how-to/record-a-cluster",
    "redaction": "how-to/redact-a-snapshot",
    "reference/gate-rules": "reference/gate",
    "report": "how-to/make-html-reports",
    "rightsize": "how-to/right-size-requests",
    "scaled": "how-to/horizontal-pod-autoscaler",
    "scheduler-plugins": "reference/scheduler-plugins",
    "security": "explanation/security",
    "sweep": "how-to/search-for-a-policy",
    "tutorials/which-policy": "how-to/choose-a-scheduler-policy",
    "tutorials/why-does-my-job-wait": "how-to/find-why-a-kueue-job-waits",
    "upgrade": "how-to/upgrade-a-node-pool",
    "versions": "reference/kubernetes-versions",
}
"""Where a page was -> where it is, without the ending."""


def pages() -> dict[str, str]:
    """Path on the site -> HTML that leads on to the new place."""
    return {f"{old}.html": _redirect(old, new) for old, new in MOVED.items()}


def _redirect(old: str, new: str) -> str:
    link = os.path.relpath(f"{new}.html", PurePosixPath(old).parent)
    return (
        f'<!doctype html><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="{link}">'
        f'<meta http-equiv="refresh" content="0; url={link}"><a href="{link}">This page has moved.</a>\n'
    )
