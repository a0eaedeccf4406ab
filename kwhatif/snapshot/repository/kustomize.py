"""Runs kustomize on copies of kustomizations, in which every name of a file or directory is one of ours.

``k0/kustomization.yaml`` says ``resources: [../k1, ./f2.yaml]``: kustomize is given what was read below the root that
the user named, and nothing in it is a path or an address of others. Upstream: kustomize
(api/internal/target/kusttarget.go).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text, text_of
from kwhatif.snapshot.read.program_words import KUBECTL_KUSTOMIZE, KUSTOMIZE_BUILD, ProgramCall, ProgramCommand
from kwhatif.snapshot.read.programs import ProgramFailureError, find_program, run_program
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.kustomization_fields import canonical_fields, with_references
from kwhatif.snapshot.repository.kustomizations import NAMES, KustomizationGraph
from kwhatif.snapshot.repository.scratch_directories import ScratchDirectory

_EXTENSIONS = (".yaml", ".yml", ".json")
_OWN_NAME = re.compile(r"\b[kf][0-9]+(?:\.[a-z]+)?\b")


def command_of_kustomize() -> ProgramCommand | None:
    """The command that builds kustomizations; None if there is none."""
    return next((each for each in (KUSTOMIZE_BUILD, KUBECTL_KUSTOMIZE) if find_program(each.program)), None)


class KustomizationCopy:
    """A directory's kustomization and those that it leads to, written to a directory of ours.

    The fields of an ``overlay`` are laid over it; what these name is seen from ``base``. Raises InputError for what
    kustomize must not read.
    """

    def __init__(
        self,
        tree: FileTree,
        graph: KustomizationGraph,
        scratch: ScratchDirectory,
        folder: str,
        overlay: Mapping[str, Any],
        base: str,
    ) -> None:
        self._tree, self._graph, self._scratch = tree, graph, scratch
        self._folders: dict[str, str] = {}
        self._shown: dict[str, str] = {}
        self._room = bounds.MANIFEST_BYTES
        self._ahead: list[str] = []
        self.target = os.path.join(scratch.path, self._start(folder, overlay, base))
        while self._ahead:
            self._write_folder(self._ahead.pop())

    def build(self, source: str) -> Text:
        """What kustomize makes of it; ``source`` is what messages call it. Raises InputError with kustomize's words."""
        command = command_of_kustomize()
        if command is None:
            raise InputError("neither kustomize nor kubectl is installed")
        try:
            printed = run_program(ProgramCall(command, operands=(self.target,)), self._scratch.path, source)
        except ProgramFailureError as error:
            problem = _OWN_NAME.sub(lambda found: self._shown.get(found[0], found[0]), error.problem)
            raise ProgramFailureError(problem, source=source) from None
        return text_of(f"{source} (built)", printed, bounds.MANIFEST_BYTES)

    def _start(self, folder: str, overlay: Mapping[str, Any], base: str) -> str:
        below = self.folder_of(folder)
        if not overlay:
            return below
        problems: list[str] = []
        fields = canonical_fields(overlay, problems)
        name = f"k{len(self._folders)}"
        self._folders[""] = name
        fields = with_references(fields, _Copies(self, base, name), problems)
        if problems:
            raise InputError(problems[0])
        start = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
        self._write(f"{name}/{NAMES[0]}", msgspec.json.encode({**start, **fields, "resources": [f"../{below}"]}))
        return name

    def folder_of(self, folder: str) -> str:
        """The name of the copy of a directory."""
        place = self._tree.place_of(folder)
        if place not in self._folders:
            self._folders[place] = name = f"k{len(self._folders)}"
            self._shown[name] = self._tree.display(folder)
            self._ahead.append(folder)
        return self._folders[place]

    def _write_folder(self, folder: str) -> None:
        problems: list[str] = []
        name = self.folder_of(folder)
        fields = with_references(self._graph.add(folder).fields, _Copies(self, folder, name), problems)
        if problems:
            raise InputError(problems[0], source=self._tree.display(folder))
        self._write(f"{name}/{NAMES[0]}", msgspec.json.encode(fields))

    def copy(self, path: str, into: str) -> str:
        """The name, beside its kustomization, of the copy of a file."""
        return self.write(os.path.basename(path), self._tree.content_of(path), into)

    def write(self, shown: str, data: bytes, into: str) -> str:
        """The name, beside its kustomization, of a new file; ``shown`` is what messages call it."""
        extension = os.path.splitext(shown)[1]
        name = f"f{len(self._shown)}{extension if extension in _EXTENSIONS else '.yaml'}"
        self._shown[name] = shown
        self._write(f"{into}/{name}", data)
        return f"./{name}"

    def path_in(self, folder: str, name: str) -> str:
        """The path of what a kustomization in a directory names. Raises InputError for what is not there."""
        path = self._tree.path_in(folder, name)
        if not self._tree.is_folder(path) and not self._tree.is_file(path):
            raise InputError(f"{name!a} is not there, and nothing is fetched")
        return path

    def is_folder(self, path: str) -> bool:
        """Whether it is a directory, which has to have a kustomization that can be built."""
        if not self._tree.is_folder(path):
            return False
        problem = self._graph.problem_of(path)
        if problem:
            raise InputError(problem)
        return True

    def _write(self, name: str, data: bytes) -> None:
        self._room -= len(data)
        if self._room < 0:
            raise InputError(f"its files are more than the limit of {bounds.MANIFEST_BYTES:,} bytes")
        self._scratch.write(name, data)


@dataclass
class _Copies:
    """Puts the names of copies, which are written to ``into``, in place of what a kustomization in ``folder`` names."""

    copy: KustomizationCopy
    folder: str
    into: str

    def tree(self, key: str, name: str) -> str:
        path = self._path_of(name)
        return f"../{self.copy.folder_of(path)}" if self.copy.is_folder(path) else self.copy.copy(path, self.into)

    def patch(self, name: str) -> str:
        return self.copy.copy(self._path_of(name), self.into)

    def inline(self, text: str) -> str:
        return self.copy.write("a patch", text.encode(), self.into)

    def input(self, name: str) -> str:
        return self.copy.copy(self._path_of(name), self.into)

    def _path_of(self, name: str) -> str:
        return self.copy.path_in(self.folder, name)
