"""The task of ``snapshot validate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.results.snapshot_check import CheckResult
from kwhatif.simulation.command import FILES, Task
from kwhatif.simulation.flag import Argument, Flag
from kwhatif.simulation.inputs import Notes


@dataclass(frozen=True, kw_only=True)
class Validate(Task[CheckResult]):
    """Report everything that is wrong with a snapshot: what cannot be read, and what does not go together."""

    prints = FILES
    exit_1_when = "there are errors, or warnings with --strict"
    examples = ("samples/cluster", "samples/gpu/cluster.json --strict")

    files: Annotated[
        Sequence[str],
        Argument(
            metavar="FILE",
            file="in",
            repeats=True,
            required=True,
            help="A snapshot, or files and directories as kubectl prints them.",
        ),
    ] = ()
    strict: Annotated[bool, Flag("--strict", help="Exit with 1 for warnings, too.")] = False

    def answer(self, options: Any, notes: Notes) -> CheckResult:
        from kwhatif.commands.snapshot.validate.validate import validate
        from kwhatif.versions import features_of

        return validate(self.files, features_of(), strict=self.strict)
