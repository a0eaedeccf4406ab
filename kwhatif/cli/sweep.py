"""``kwhatif sweep``: which scheduler policy is best?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import Tables, argument
from kwhatif.cli.scenario_options import ScenarioFlags
from kwhatif.commands.common_options import FleetOptions
from kwhatif.commands.sweep.options import SweepOptions

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True)
class SweepAnswerOptions(AnswerOptions):
    """A wide answer has all policies."""

    everything: Annotated[
        bool, typer.Option("--all", help="Show all policies and settings. Default: the front, and what matters most.")
    ] = False

    @property
    def is_whole(self) -> bool:
        return self.everything or self.output == Tables.wide


@app.command()
@expand_groups
def sweep(
    files: Annotated[list[str] | None, argument(metavar="FILE", help="Manifests with pods to schedule.")] = None,
    *,
    options: SweepOptions,
    answer: SweepAnswerOptions,
    fleet: FleetOptions,
    scenario: Annotated[ScenarioFlags, Excluding("verb", "at", "call_extenders")],
) -> None:
    """Try many scheduler policies on the same pods: which are best, and which settings matter.

    Each differs from today's policy in the settings of a SweepSpace document; of equal nodes each takes the one that
    one worker of that version does. Shown are the policies that no other beats by every objective. docs/sweep.md
    explains the measures.

    Exit codes: 0 policies were compared, 2 usage or input error.
    """
    from kwhatif.commands.sweep.run import Sweep
    from kwhatif.commands.sweep.text import sweep_blocks
    from kwhatif.simulation.pipeline import ask

    others = [*options.other_snapshots, *options.probe, options.space, options.prices]
    inputs = scenario.inputs(files or (), *others)
    question = Sweep(
        snapshot=inputs.snapshot, files=files or (), executor=fleet.executor, rows=fleet.rows, **vars(options)
    )
    result = ask(question, *question.build_sides(inputs, scenario.scheduler))
    answer.finish(result, lambda everything: sweep_blocks(result, wide=everything))
