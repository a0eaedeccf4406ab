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
from itertools import takewhile
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from kwhatif.errors import InputError, UsageError
from kwhatif.simulation.named_files import beside, check_named_files, checkout_of, own_users, problem_of_owner
from kwhatif.snapshot.format.documents import read_only
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.snapshot.read.files import display_path, may_read_disk
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
    accept: Annotated[
        list[str] | None, Meta(description="What --accept names, besides that: files to judge without.")
    ] = None
    exemptions: Annotated[
        Literal["allowed", "forbidden"], Meta(description="Whether annotations may exempt workloads from rules.")
    ] = "allowed"
    rules: Annotated[dict[str, Any] | None, Meta(description="Settings by rule, or a list of them.")] = None


@dataclass(frozen=True)
class ReadPolicy:
    """A policy and where it was read: ``source`` is empty if there is no file, ``distrust`` tells of one not read."""

    policy: GatePolicy
    source: str = ""
    distrust: str = ""

    def path_beside(self, path: str, place: str) -> str:
        """A path that the file names at a place, as it is seen from here. Raises InputError for one of elsewhere."""
        found = beside(self.source, path)
        check_named_files([(found, place)], checkout_of(beside(self.source, "")), self.source)
        return found

    @property
    def description(self) -> str:
        """Where the rules come from, in words."""
        if not self.source:
            return f"kwhatif's own defaults{f' ({self.distrust})' if self.distrust else ''}"
        return self.source if self.policy.rules is not None else f"{self.source} and kwhatif's own defaults"


def find_policy(directory: str) -> str | None:
    """``.kwhatif.yaml`` of this directory or one above, as far as the top of the git repository.

    Outside of a repository one counts only if nobody else can have put it there. Raises InputError for a link that
    leads out of the repository.
    """
    found = next((path for path, problem in _policies_above(directory) if not problem), None)
    if found is None:
        return None
    check_named_files([(found, "")], checkout_of(found), FILE_NAME)
    return os.path.relpath(found, directory)


def describe_distrust(directory: str) -> str:
    """Which ``.kwhatif.yaml`` is passed over on the way to the one that counts, and why; empty if none is."""
    found = takewhile(lambda each: each[1], _policies_above(directory))
    return "; ".join(f"{display_path(path)} is not read, as {problem}" for path, problem in found)


def _policies_above(directory: str) -> Iterator[tuple[str, str]]:
    """The files of this name from a directory up, each with the reason why it does not count, if there is one."""
    if not may_read_disk():
        return
    here = os.path.abspath(directory)
    top = _repository_around(here)
    while True:
        path = os.path.join(here, FILE_NAME)
        if os.path.isfile(path):
            yield path, "" if top else problem_of_owner(path)
        above = os.path.dirname(here)
        if here in (above, top):
            return
        here = above


def _repository_around(directory: str) -> str:
    """The top of the git repository around a directory; empty without one, and for one that another user put there."""
    here = directory
    while not os.path.lexists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return ""
        here = above
    # A container's user works in the checkout of another one.
    owners = {*own_users(), os.stat(directory).st_uid}
    return here if os.lstat(os.path.join(here, ".git")).st_uid in owners else ""


def read_policy(path: str | None) -> ReadPolicy:
    """The policy of a file; of none, one that says nothing. Raises InputError with the place of a mistake."""
    if path is None:
        return ReadPolicy(GatePolicy(), distrust=describe_distrust(os.curdir))
    policy, source = read_only(path, KIND, GatePolicy)
    try:
        if policy.kubernetes_version:
            minor_of(policy.kubernetes_version)
    except UsageError as error:
        raise InputError(str(error), source=source, place="$.kubernetesVersion") from None
    return ReadPolicy(_with_paths(policy, source), source)


def _with_paths(policy: GatePolicy, source: str) -> GatePolicy:
    """The policy with its paths relative to the working directory, not to the file."""
    scheduler = policy.policy
    autoscalers = [policy.autoscale] if isinstance(policy.autoscale, str) else policy.autoscale
    for path, place in _named_files(replace(policy, autoscale=autoscalers)):
        if not path:
            raise InputError("expected the name of a file, found an empty text", source=source, place=place)
    done = replace(
        policy,
        autoscale=None if autoscalers is None else [beside(source, path) for path in autoscalers],
        snapshot=None if policy.snapshot is None else [beside(source, path) for path in policy.snapshot],
        policy=scheduler if scheduler in (None, "default") else beside(source, scheduler or ""),
    )
    check_named_files(_named_files(done), checkout_of(beside(source, "")), source)
    return done


def _named_files(policy: GatePolicy) -> Iterator[tuple[str, str]]:
    """Every path in a policy, seen from here, and its place."""
    for number, path in enumerate(policy.snapshot or ()):
        yield path, f"$.snapshot[{number}]"
    for number, path in enumerate(policy.autoscale or ()):
        yield path, f"$.autoscale[{number}]"
    if policy.policy not in (None, "default"):
        yield policy.policy or "", "$.policy"
