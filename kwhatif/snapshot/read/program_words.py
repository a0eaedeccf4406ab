"""The words of every program that is started: what stands in them, and where each word of others comes from.

Words of others are names, versions and paths. Each is checked before a program is started, and stands either behind an
option and ``=`` or behind ``--``, where it cannot be an option itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

import msgspec

from kwhatif.errors import InputError

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"


class WordSort(msgspec.Struct, frozen=True):
    """A sort of word that others may write: what it is, what it looks like, and whose word it is."""

    what: str
    pattern: re.Pattern[str]
    origin: str
    most: int = 4096

    def check(self, word: str) -> None:
        """Raises InputError for a word that is none of this sort."""
        if len(word) > self.most or self.pattern.fullmatch(word) is None:
            shown = ascii(word if len(word) <= self.most else f"{word[: self.most]}...")
            raise InputError(f"{shown} is no {self.what}, and no program gets it")


RELEASE = WordSort(
    "name of a Helm release",
    re.compile(rf"{_LABEL}(?:\.{_LABEL})*"),
    "`name` of a Chart.yaml, an Application, a HelmRelease; their `releaseName`",
    53,
)
NAMESPACE = WordSort(
    "name of a namespace", re.compile(_LABEL), "`destination` of an Application, `targetNamespace` of a HelmRelease", 63
)
VERSION = WordSort("version of Kubernetes", re.compile(r"v?[0-9]+(?:\.[0-9]+){1,2}"), "the command line, the rules", 20)
PARAMETER = WordSort(
    "parameter of a chart", re.compile(r"[^\0]+=[^\0]*", re.DOTALL), "`parameters` of an Application", 65_536
)
API_VERSION = WordSort(
    "API version", re.compile(r"[A-Za-z0-9][-A-Za-z0-9./]*"), "`apiVersions` of a chart in a kustomization", 253
)
YES = WordSort("yes", re.compile("true"), "`skipHooks` of a chart in a kustomization")
OWN_PATH = WordSort("path", re.compile(r"[^\0\n]+"), "a directory of our own")
REVISION = WordSort(
    "revision of git", re.compile(r"(?!-)[^\0-\x1f\x7f]+"), "the command line, which a pipeline may fill in"
)


class ProgramCommand(msgspec.Struct, frozen=True):
    """A command of a program: the words that are always there, and the sorts of its options and of its operands.

    ``separator`` is what its operands stand behind.
    """

    program: str
    words: Sequence[str]
    options: Mapping[str, WordSort] = {}
    operands: Sequence[WordSort] = ()
    separator: str = "--"


_GIT = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.packedGitWindowSize=32m")
_GIT_READS = (*_GIT, "-c", "core.packedGitLimit=256m", "--no-pager", "--no-replace-objects")

HELM_TEMPLATE = ProgramCommand(
    "helm",
    ("template", "--include-crds", "--skip-tests"),
    {
        "namespace": NAMESPACE,
        "kube-version": VERSION,
        "api-versions": API_VERSION,
        "no-hooks": YES,
        "values": OWN_PATH,
        "set": PARAMETER,
        "set-string": PARAMETER,
    },
    (RELEASE, OWN_PATH),
)
GIT_COMMIT = ProgramCommand(
    "git", (*_GIT_READS, "rev-parse", "--verify", "--quiet"), operands=(REVISION,), separator="--end-of-options"
)
GIT_TOP = ProgramCommand("git", (*_GIT_READS, "rev-parse", "--show-toplevel"))
GIT_ORIGIN = ProgramCommand("git", (*_GIT_READS, "config", "--get", "remote.origin.url"))
GIT_OBJECTS = ProgramCommand("git", (*_GIT_READS, "cat-file", "--batch"))

COMMANDS = (HELM_TEMPLATE, GIT_COMMIT, GIT_TOP, GIT_ORIGIN, GIT_OBJECTS)
"""Every command that is run."""


class ProgramCall(msgspec.Struct, frozen=True):
    """A command with its words: ``options`` by name, in their order, and the ``operands``."""

    command: ProgramCommand
    options: Sequence[tuple[str, str]] = ()
    operands: Sequence[str] = ()

    def words(self) -> list[str]:
        """All words behind the program's name. Raises InputError for one that is not of its sort."""
        command = self.command
        for name, word in self.options:
            command.options[name].check(word)
        for sort, word in zip(command.operands, self.operands, strict=True):
            sort.check(word)
        given = [f"--{name}={word}" for name, word in self.options]
        return [*command.words, *given, *([command.separator, *self.operands] if self.operands else [])]
