"""Names that a shell completes: nodes, pods and workloads of the snapshot that the words so far name.

Whatever goes wrong, nothing is said: a shell that is asked for a word wants no other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from kwhatif.snapshot.format.model import Snapshot

LARGEST = 64 * 2**20
"""Bytes of files that are read at most for a completion."""


def complete_node(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of nodes."""
    from kwhatif.api.core import Node

    return _beginning(
        incomplete, (node.name for snapshot in _snapshot(ctx) for node in snapshot.objects.list_all(Node))
    )


def complete_pod(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of pods, and of the workloads that have some, as ``deployment/web``."""
    return _beginning(incomplete, (name for workloads, pods in _list_names(ctx) for name in (*workloads, *pods)))


def complete_workload(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of workloads that have pods, before their number: ``deployment/shop/web=``."""
    return _beginning(incomplete, (f"{name}=" for workloads, _ in _list_names(ctx) for name in workloads))


def _list_names(ctx: typer.Context) -> Iterator[tuple[list[str], list[str]]]:
    """Of a snapshot the names of workloads that have pods, and of pods."""
    from kwhatif.api.core import Pod
    from kwhatif.simulation.ownership import Owners

    for snapshot in _snapshot(ctx):
        pods, owners = snapshot.objects.list_all(Pod), Owners(snapshot)
        tops = (owners.workload_of(pod) for pod in pods)
        workloads = [f"{top.kind.lower()}/{top.namespace}/{top.name}" for top in tops if top.kind != "Pod"]
        yield workloads, [pod.key for pod in pods]


def _beginning(incomplete: str, names: Iterator[str]) -> list[str]:
    try:
        return sorted({name for name in names if name.startswith(incomplete) and name.isprintable()})
    except Exception:
        return []


def _snapshot(ctx: typer.Context) -> Iterator[Snapshot]:
    """The snapshot, or nothing if there is none, it cannot be read, or it is too large to wait for."""
    try:
        from kwhatif.snapshot.load import load_snapshot

        named = ctx.params.get("snapshot") or os.environ.get("KWHATIF_SNAPSHOT") or ()
        paths = [named] if isinstance(named, str) else list(named)
        if paths and "-" not in paths and sum(map(_size, paths)) <= LARGEST:
            yield load_snapshot(paths)
    except Exception:
        return


def _size(path: str) -> int:
    files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names] or [path]
    return sum(map(os.path.getsize, files))


COMPLETIONS: Mapping[str, Callable[[typer.Context, str], list[str]]] = {
    "node": complete_node,
    "pod": complete_pod,
    "workload": complete_workload,
}
"""By what is completed."""
