"""Builds kustomizations of directories with ``kustomize`` or ``kubectl kustomize``, where one is installed.

Only kustomizations without remote references are built: each resource, base and component, recursively, has to be an
existing file or directory. The program runs with an environment of its own, without plugins, and with a time limit;
kustomize itself reads no files outside of a kustomization's directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text, display_path, read_paths, text_of
from kwhatif.snapshot.read.objects import decode, read_documents

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_SECONDS = 60
_TREES = ("resources", "bases", "components")
_FILES = ("patchesStrategicMerge", "crds", "configurations", "transformers", "generators", "validators")
_NEEDS_MORE = ("helmCharts", "helmChartInflationGenerator", "transformers", "generators", "validators")


@dataclass
class KustomizeBuilds:
    """What to build: ``roots``, which no other kustomization refers to.

    ``covered`` are the files that builds read, and ``not_built`` says why others are not built.
    """

    roots: list[str] = field(default_factory=list)
    covered: set[str] = field(default_factory=set)
    not_built: dict[str, str] = field(default_factory=dict)


@dataclass
class _Kustomization:
    folder: str
    files: set[str]
    folders: set[str]
    problem: str = ""


def program_of_kustomize() -> list[str]:
    """The command that builds kustomizations; empty if there is none."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else []


def plan_builds(folders: Sequence[str]) -> KustomizeBuilds:
    """The builds of directories that may have kustomizations. Raises InputError for one that cannot be read."""
    known: dict[str, _Kustomization] = {}
    here = [os.path.normpath(folder) for folder in folders if _file_of(folder)]
    for folder in here:
        _follow(folder, known, 0)
    led_to = {each for one in known.values() for each in one.folders}
    builds = KustomizeBuilds()
    for folder in here:
        if folder in led_to:
            continue
        reached = list(_reachable_builds(folder, known))
        problem = next((one.problem for one in reached if one.problem), "")
        if problem:
            builds.not_built[folder] = problem
            continue
        builds.roots.append(folder)
        for one in reached:
            builds.covered |= one.files
    return builds


def _file_of(folder: str) -> str:
    return next((path for name in NAMES if os.path.isfile(path := os.path.join(folder, name))), "")


def _follow(folder: str, known: dict[str, _Kustomization], depth: int) -> None:
    """Read a kustomization and those that it refers to, each once."""
    if folder in known:
        return
    file = _file_of(folder)
    one = known[folder] = _Kustomization(folder, {os.path.normpath(file)} if file else set(), set())
    if not file or depth > 64:
        one.problem = f"{display_path(folder)} has no kustomization"
        return
    (text,) = read_paths([file], max_bytes=bounds.MANIFEST_BYTES)
    value: dict[str, Any] = {}
    for document in read_documents(text):
        value |= decode(document.value, dict[str, Any])
    if needed := [key for key in _NEEDS_MORE if value.get(key)]:
        one.problem = f"{display_path(file)} has {needed[0]}"
    for key in (*_TREES, *_FILES):
        listed = value.get(key)
        for entry in listed if isinstance(listed, list) else ():
            _follow_entry(one, entry, known, depth)
    for entry in value.get("patches") or () if isinstance(value.get("patches"), list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("path"), str):
            one.files.add(os.path.normpath(os.path.join(folder, entry["path"])))


def _follow_entry(one: _Kustomization, entry: Any, known: dict[str, _Kustomization], depth: int) -> None:
    path = os.path.normpath(os.path.join(one.folder, entry)) if isinstance(entry, str) else ""
    if path and os.path.isdir(path):
        one.folders.add(path)
        _follow(path, known, depth + 1)
    elif path and os.path.isfile(path):
        one.files.add(path)
    elif path and "\n" not in entry:
        one.problem = one.problem or f"{entry} of {display_path(one.folder)} is not there, and nothing is fetched"


def _reachable_builds(folder: str, known: dict[str, _Kustomization]) -> Iterator[_Kustomization]:
    seen: set[str] = set()
    ahead = [folder]
    while ahead:
        each = ahead.pop()
        if each not in seen:
            seen.add(each)
            yield known[each]
            ahead += sorted(known[each].folders)


def build_kustomization(folder: str) -> Text:
    """The output of kustomize for a directory. Raises InputError with its error if it fails, or takes too long."""
    source = display_path(folder)
    with tempfile.TemporaryDirectory(prefix="kwhatif-") as home:
        path = os.environ.get("PATH", "")
        environment = {"PATH": path, "HOME": home, "XDG_CONFIG_HOME": home, "KUBECONFIG": os.devnull}
        try:
            ran = subprocess.run(
                [*program_of_kustomize(), os.path.abspath(folder)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd=home,
                env=environment,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InputError(f"kustomize took longer than {_SECONDS} seconds", source=source) from None
    if ran.returncode:
        words = " ".join(ran.stderr.decode("utf-8", "replace").split())[:500]
        raise InputError(f"kustomize cannot build this: {words}", source=source)
    return text_of(f"{source} (built)", ran.stdout, bounds.MANIFEST_BYTES)
