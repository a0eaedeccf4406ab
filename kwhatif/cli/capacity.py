"""``kwhatif capacity``: how many more of a pod or a release fit?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import ManifestFiles
from kwhatif.cli.scenario_options import AutoscaledFlags
from kwhatif.commands.capacity.options import CapacityOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def capacity(
    files: ManifestFiles,
    *,
    options: CapacityOptions,
    answer: AnswerOptions,
    scenario: Annotated[AutoscaledFlags, Excluding("verb")],
) -> None:
    """Count how many more of a pod, or of a release, fit beside what runs: per node, in all, and what ends it.

    What is counted is all pods of the manifests together, or with --pod those of one workload one by one. Nobody is
    evicted for them.

    Exit codes: 0 the answer is good, 1 it is not: fewer fit than --at-least says, 2 usage or input error.
    """
    from kwhatif.commands.capacity.run import Capacity
    from kwhatif.commands.capacity.text import capacity_blocks

    result = scenario.ask(Capacity(**vars(options)), files, with_map=answer.is_mapped)
    answer.finish(result, lambda everything: capacity_blocks(result))
