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
import stat
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from kwhatif.errors import InputError, UsageError
from kwhatif.snapshot.format.documents import read_only
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.snapshot.read.files import STDIN, display_path, may_read_disk
from kwhatif.snapshot.read.rooted_files import FileRoot, LeadsOutError
from kwhatif.versions import minor_of


def checkout_of(rules_file: str) -> str:
    """The directory that everything named by a rules file has to be below, as a path without links.

    The top of the git repository that the file is in; without one the working directory, if the file is below that, and
    else the directory of the file.
    """
    # Not of the file, which may be a link that leads to where it likes.
    folder = os.path.realpath(os.path.dirname(rules_file) or os.curdir)
    here = folder
    while True:
        if os.path.exists(os.path.join(here, ".git")):
            return here
        above = os.path.dirname(here)
        if above == here:
            break
        here = above
    working = os.path.realpath(os.curdir)
    return working if _is_below(folder, working) else folder


def check_named_files(paths: Iterable[tuple[str, str]], checkout: str, source: str) -> None:
    """Raises InputError for the first of these paths, each with its place in ``source``, that must not be read.

    They may come with a pull request, so they are regular files below the checkout: the author of a change must not
    have the gate read files that only the gate may read, nor wait for a pipe, nor read a device without end. Options
    and variables are not checked: their author runs the gate.

    A directory is checked as it is read: its own files, without those below. Missing files are reported by their
    reader.
    """
    root = FileRoot(checkout)
    for path, place in paths:
        for file in _files_of(path):
            problem = _problem(file, root)
            if problem:
                raise InputError(f"{display_path(file)} {problem}", source=source, place=place)


def beside(source: str, path: str) -> str:
    """A path of a rules file, which is relative to the file's directory, as it is seen from here."""
    return os.path.join("" if source in (STDIN, display_path(STDIN)) else os.path.dirname(source), path)


def own_users() -> set[int]:
    """The users whose files decide: who runs this, and the system."""
    return {os.geteuid() if hasattr(os, "geteuid") else 0, 0}


def problem_of_owner(path: str) -> str:
    """Why another user may have put a file where it lies; empty if none can have."""
    if os.name != "posix":
        return ""
    file, folder = os.stat(path), os.stat(os.path.dirname(path))
    if file.st_uid not in own_users():
        return "it belongs to another user"
    if folder.st_uid not in own_users():
        return "its directory belongs to another user"
    of_others = folder.st_mode & stat.S_IWGRP and folder.st_gid not in (0, os.getegid(), *os.getgroups())
    if folder.st_mode & stat.S_IWOTH or of_others:
        return "others may write to its directory"
    return ""


def _files_of(path: str) -> list[str]:
    # A recording may have a moment behind its name.
    if not os.path.lexists(path) and "@" in path and os.path.lexists(path.rpartition("@")[0]):
        path = path.rpartition("@")[0]
    if not os.path.isdir(path):
        return [path]
    try:
        return [path, *(os.path.join(path, name) for name in sorted(os.listdir(path)))]
    except OSError:
        return [path]


def _problem(path: str, root: FileRoot) -> str:
    if path == STDIN:
        return "may hold anything: a rules file may name regular files only"
    try:
        root.resolve(path)
    except LeadsOutError:
        return f"is not below {display_path(root.path)}: a rules file may name no other files"
    if root.sort_of(path) == "other":
        return "is a pipe or a device: a rules file may name regular files only"
    return ""


def _is_below(path: str, folder: str) -> bool:
    try:
        return os.path.commonpath((path, folder)) == folder
    except ValueError:
        return False


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


class ReadPolicy(msgspec.Struct, frozen=True):
    """A policy and where it was read: ``source`` is empty if there is no file, ``distrust`` tells of one not read."""

    policy: GatePolicy
    source: str = ""
    distrust: str = ""

    def path_beside(self, path: str, place: str) -> str:
        """A path that the file names at a place, as it is seen from here. Raises InputError for one of elsewhere."""
        joined = beside(self.source, path)
        check_named_files([(joined, place)], checkout_of(beside(self.source, "")), self.source)
        return joined

    @property
    def cluster(self) -> Sequence[str]:
        """The files of ``snapshot``. Raises InputError for one that is not there."""
        for number, path in enumerate(self.policy.snapshot or ()):
            if not os.path.exists(_files_of(path)[0]):
                problem = f"{display_path(path)}: no such file or directory"
                raise InputError(problem, source=self.source, place=f"$.snapshot[{number}]")
        return self.policy.snapshot or ()

    @property
    def named_files(self) -> Sequence[str]:
        """The file itself and those that it names, but for those of rules."""
        return [self.source, *(path for path, _ in _named_files(self.policy))] if self.source else ()

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
    policy = next((path for path, problem in _policies_above(directory) if not problem), None)
    if policy is None:
        return None
    check_named_files([(policy, "")], checkout_of(policy), FILE_NAME)
    return os.path.relpath(policy, directory)


def describe_distrust(directory: str) -> str:
    """Which ``.kwhatif.yaml`` is passed over on the way to the one that counts, and why; empty if none is."""
    distrusted = takewhile(lambda policy: policy[1], _policies_above(directory))
    return "; ".join(f"{display_path(path)} is not read, as {problem}" for path, problem in distrusted)


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
