"""kwhatif: what would kube-scheduler do?

    import kwhatif

    snapshot = kwhatif.load_snapshot(["cluster.json"])
    expanded = kwhatif.expand(kwhatif.load_manifests(["web.yaml"]), snapshot)
    session = kwhatif.Session(snapshot, kwhatif.Setup(kwhatif.default_configuration(), kwhatif.features_of()))
    result = kwhatif.place(session, expanded.pods)

Names are imported when they are first used, so that ``import kwhatif`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kwhatif.errors import KwhatifError
    from kwhatif.framework.interface import Plugin
    from kwhatif.policy.load import default_configuration, load_configuration
    from kwhatif.results import ExplainResult, PlaceResult
    from kwhatif.scheduling.setup import Setup
    from kwhatif.snapshot.load import load_manifests, load_snapshot
    from kwhatif.versions import features_of
    from kwhatif.whatif.expand.expand import expand
    from kwhatif.whatif.explain.explain import explain
    from kwhatif.whatif.place.place import place
    from kwhatif.whatif.session import Asked, Session, pending_pods

__all__ = [
    "Asked",
    "ExplainResult",
    "KwhatifError",
    "PlaceResult",
    "Plugin",
    "Session",
    "Setup",
    "default_configuration",
    "expand",
    "explain",
    "features_of",
    "load_configuration",
    "load_manifests",
    "load_snapshot",
    "pending_pods",
    "place",
]

_HOMES = {
    "Asked": "whatif.session",
    "ExplainResult": "results",
    "KwhatifError": "errors",
    "PlaceResult": "results",
    "Plugin": "framework.interface",
    "Session": "whatif.session",
    "Setup": "scheduling.setup",
    "default_configuration": "policy.load",
    "expand": "whatif.expand.expand",
    "explain": "whatif.explain.explain",
    "features_of": "versions",
    "load_configuration": "policy.load",
    "load_manifests": "snapshot.load",
    "load_snapshot": "snapshot.load",
    "pending_pods": "whatif.session",
    "place": "whatif.place.place",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
