"""The task of ``completion``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Argument
from kwhatif.simulation.inputs import Notes

Shell = Literal["bash", "zsh", "fish", "powershell"]
SHELLS: tuple[Shell, ...] = ("bash", "zsh", "fish", "powershell")


@dataclass(frozen=True, kw_only=True)
class Completion(Task[Printed]):
    """Print the script that completes words in a shell: source <(kwhatif completion bash).

    It completes commands, options, and names of the snapshot's nodes, pods and workloads.

    Exit codes: 0 good, 2 usage error.
    """

    prints = DOCUMENT
    examples = ("bash", "zsh", "fish", "powershell")

    shell: Annotated[Shell, Argument(metavar="SHELL", choices=SHELLS, help="The shell.")]

    def answer(self, options: Any, notes: Notes) -> Printed:
        from kwhatif.commands.completion.scripts import SCRIPTS

        return Printed(text=SCRIPTS[self.shell])
