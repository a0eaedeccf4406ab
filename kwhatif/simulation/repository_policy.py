"""GatePolicy: the rules file of a repository, ``.kwhatif.yaml``.

    apiVersion: kwhatif.dev/v1
    kind: GatePolicy
    snapshot: [cluster.json.zst]
    rules:
      unschedulable: {level: error}
      headroom: {level: warn, percent: 15}
      single-node:
      - {level: error, namespaces: [shop]}
      - {level: warn, namespaces: ["team-*"]}

Every command takes the snapshot from here; the gate's use of ``rules`` is in ``commands/gate/gate_policy.py``. The
schema of the format is ``schemas/gate-policy.schema.json``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from kwhatif.errors import InputError, UsageError
from kwhatif.simulation.named_files import check_named_files, checkout_of
from kwhatif.snapshot.format.documents import read_only
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.snapshot.read.files import STDIN
from kwhatif.versions import minor_of

KIND = "GatePolicy"
FILE_NAME = ".kwhatif.yaml"


class GatePolicy(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file may say. Paths in it are relative to its directory."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: dict[str, Any] | None = None
    snapshot: Annotated[list[str] | None, Meta(description="What --snapshot names.")] = None
    policy: Annotated[str | None, Meta(description="What --policy names: a KubeSchedulerConfiguration.")] = None
    autoscale: Annotated[
        str | list[str] | None, Meta(description="What --autoscale names: NodeGroups, InstanceTypes, or both.")
    ] = None
    kubernetes_version: Annotated[str | None, Meta(description="What --kubernetes-version says.")] = None
    exclude: Annotated[list[str] | None, Meta(description="What --exclude names, besides that.")] = None
    exemptions: Annotated[
        Literal["allowed", "forbidden"], Meta(description="Whether annotations may exempt workloads from rules.")
    ] = "allowed"
    rules: Annotated[dict[str, Any] | None, Meta(description="Settings by rule, or a list of them.")] = None


@dataclass(frozen=True)
class ReadPolicy:
    """A policy and where it was read: ``source`` is empty if there is no file."""

    policy: GatePolicy
    source: str = ""

    @property
    def description(self) -> str:
        """Where the rules come from, in words."""
        if not self.source:
            return "kwhatif's own defaults"
        return self.source if self.policy.rules is not None else f"{self.source} and kwhatif's own defaults"


def find_policy(directory: str) -> str | None:
    """``.kwhatif.yaml`` of this directory or one above, as far as the top of the git repository.

    Raises InputError for a link that leads out of that.
    """
    here = os.path.abspath(directory)
    while True:
        path = os.path.join(here, FILE_NAME)
        if os.path.isfile(path):
            check_named_files([(path, "")], checkout_of(path), FILE_NAME)
            return os.path.relpath(path, directory)
        above = os.path.dirname(here)
        if above == here or os.path.exists(os.path.join(here, ".git")):
            return None
        here = above


def read_policy(path: str | None) -> ReadPolicy:
    """The policy of a file; of none, one that says nothing. Raises InputError with the place of a mistake."""
    if path is None:
        return ReadPolicy(GatePolicy())
    policy, source = read_only(path, KIND, GatePolicy)
    try:
        if policy.kubernetes_version:
            minor_of(policy.kubernetes_version)
    except UsageError as error:
        raise InputError(str(error), source=source, place="$.kubernetesVersion") from None
    return ReadPolicy(_beside(policy, source), source)


def _beside(policy: GatePolicy, source: str) -> GatePolicy:
    """The policy with its paths relative to the working directory, not to the file."""
    folder = "" if source in (STDIN, "standard input") else os.path.dirname(source)
    scheduler = policy.policy
    autoscalers = [policy.autoscale] if isinstance(policy.autoscale, str) else policy.autoscale
    beside = replace(
        policy,
        autoscale=None if autoscalers is None else [os.path.join(folder, path) for path in autoscalers],
        snapshot=None if policy.snapshot is None else [os.path.join(folder, path) for path in policy.snapshot],
        policy=scheduler if scheduler in (None, "default") else os.path.join(folder, scheduler or ""),
    )
    check_named_files(_named_files(beside), checkout_of(source if folder else ""), source)
    return beside


def _named_files(policy: GatePolicy) -> Iterator[tuple[str, str]]:
    """Every path in a policy, seen from here, and its place."""
    for number, path in enumerate(policy.snapshot or ()):
        yield path, f"$.snapshot[{number}]"
    for number, path in enumerate(policy.autoscale or ()):
        yield path, f"$.autoscale[{number}]"
    if policy.policy not in (None, "default"):
        yield policy.policy or "", "$.policy"
