"""Options of ``kwhatif explain`` only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwhatif.simulation.explanation.options import ExplainOptions
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Files


@dataclass(frozen=True)
class ExplainAfterOptions(ExplainOptions):
    """What is looked at, and which manifests come ``after`` which pods do."""

    after: Annotated[
        Files,
        Flag(
            "--after",
            metavar="FILE",
            file="manifests",
            help="Manifests that are placed before: a pod of theirs is explained as it was tried (repeatable).",
        ),
    ] = ()
