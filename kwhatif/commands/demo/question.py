"""The task of ``demo``."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Argument
from kwhatif.simulation.inputs import Notes

_TO_TRY = (
    "place {0}/manifests/web.yaml --snapshot {0}/cluster",
    "explain {0}/manifests/too-big.yaml --snapshot {0}/cluster",
    "drain general-a-1 --ignore-daemonsets --delete-emptydir-data --snapshot {0}/cluster",
)


@dataclass(frozen=True, kw_only=True)
class Demo(Task[Printed]):
    """Copy the sample clusters, manifests and policies that the examples of --help name, and say what to try.

    The examples run as they are printed beside a directory called samples.

    Exit codes: 0 good, 2 usage error.
    """

    prints = DOCUMENT
    examples = ("", "try-kwhatif")

    directory: Annotated[
        str, Argument(metavar="DIR", help="The directory to make; one that is there already is left alone.")
    ] = "samples"

    def answer(self, options: Any, notes: Notes) -> Printed:
        from kwhatif.commands.demo.copy_samples import copy_samples

        count = copy_samples(self.directory)
        place = shlex.quote(self.directory.rstrip(f"/{os.sep}"))
        commands = "".join(f"  {self.program} {words.format(place)}\n" for words in _TO_TRY)
        return Printed(text=f"{count} files copied to {place}. Try:\n\n{commands}")
