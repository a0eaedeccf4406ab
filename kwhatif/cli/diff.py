"""``kwhatif diff``: what would change?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import argument
from kwhatif.cli.scenario_options import AutoscaledFlags
from kwhatif.commands.autoscale.options import ComparePoolsOptions
from kwhatif.commands.deschedule.options import ComparePoliciesOptions
from kwhatif.commands.diff.options import DiffOptions
from kwhatif.errors import UsageError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def diff(
    files: Annotated[
        list[str] | None, argument(metavar="FILE", help="Manifests with the pods, the same for both sides.")
    ] = None,
    *,
    options: DiffOptions,
    pools: ComparePoolsOptions,
    descheduling: ComparePoliciesOptions,
    answer: AnswerOptions,
    scenario: Annotated[AutoscaledFlags, Excluding("verb", "at", "policy", "call_extenders")],
) -> None:
    """Compare what two policies, two Kubernetes versions, two clusters or two sets of manifests come to.

    With --node-pools, or --catalogue twice: what Karpenter would buy for the pods that wait, and for how much. With
    --deschedule twice: whom the descheduler would evict by each policy, and what follows.

    Each side places the pods that 'kwhatif place' does. Where both hold the same nodes for the best, the same one is
    chosen: ties are no difference.

    Exit codes: 0 the answer is good, 1 it is not: something differs, 2 usage or input error.
    """
    from kwhatif.commands.autoscale.karpenter_text import pools_diff_blocks
    from kwhatif.commands.autoscale.pools_diff import ComparePools
    from kwhatif.commands.deschedule.compare_policies import ComparePolicies
    from kwhatif.commands.deschedule.diff_text import deschedule_diff_blocks
    from kwhatif.commands.diff.run import Diff
    from kwhatif.commands.diff.text import diff_blocks
    from kwhatif.simulation.pipeline import ask

    both = files or []
    given = [value for group in (options, pools, descheduling) for value in vars(group).values()]
    inputs = scenario.inputs(both, *given, with_map=answer.is_mapped)
    if any(vars(pools).values()):
        if any(vars(options).values()) or scenario.autoscaling.autoscale:
            raise UsageError("--node-pools, --catalogue and --rebuild go with manifests for both sides alone")
        bought = scenario.ask(ComparePools(**vars(pools)), both)
        answer.finish(bought, lambda everything: pools_diff_blocks(bought))
    if descheduling.deschedule:
        if both or any(vars(options).values()):
            raise UsageError("--deschedule compares what is done to pods that run: it goes with no others to place")
        evicted = scenario.ask(ComparePolicies(**vars(descheduling)))
        answer.finish(evicted, lambda everything: deschedule_diff_blocks(evicted))
    question = Diff(snapshot=inputs.snapshot, files=both, **vars(options))
    result = ask(question, *question.build_sides(inputs, scenario.scheduler))
    answer.finish(result, lambda everything: diff_blocks(result, everything=everything))
