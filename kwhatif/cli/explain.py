"""``kwhatif explain``: why does a pod go where it goes, or nowhere?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

import typer

from kwhatif.cli.answer_options import AnswerOptions
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import AnyNamespace, PodFiles, PodWords
from kwhatif.cli.scenario_options import ScenarioFlags
from kwhatif.commands.autoscale.options import ExplainNodesOptions
from kwhatif.commands.deschedule.options import ExplainDeschedulingOptions
from kwhatif.commands.explain.options import ExplainAfterOptions
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Flag

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Output(StrEnum):
    text = "text"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"


@dataclass(frozen=True)
class ExplainAnswerOptions(AnswerOptions):
    """An explanation is a text with tables."""

    everything: Annotated[bool, typer.Option("--all", help="Show every node, however many there are.")] = False
    output: Annotated[
        str, Flag("--output", short="-o", type=Output, shows_default=True, help="The format to print.")
    ] = Output.text


@app.command()
@expand_groups
def explain(
    pods: PodWords = None,
    filename: PodFiles = None,
    namespace: AnyNamespace = None,
    *,
    options: ExplainAfterOptions,
    karpenter: ExplainNodesOptions,
    descheduling: ExplainDeschedulingOptions,
    answer: ExplainAnswerOptions,
    scenario: Annotated[ScenarioFlags, Excluding("namespace", "verb", "at")],
) -> None:
    """Show every node's verdict on a pod, the scores, the evictions, and the smallest changes that would help.

    Each pod is looked at by itself; one that runs already, as if it had not got its node yet.

    Exit codes: 0 the answer is good, 1 it is not: a pod finds no node (of a node: it stays), 2 usage or input
    error.
    """
    from kwhatif.commands.autoscale.karpenter_text import nodes_explained_blocks
    from kwhatif.commands.autoscale.run import ExplainNodes
    from kwhatif.commands.deschedule.explain_pods import ExplainDescheduling
    from kwhatif.commands.deschedule.explained_text import deschedule_explained_blocks
    from kwhatif.commands.explain.run import question_about
    from kwhatif.commands.explain.text import explain_blocks

    words, offered = pods or [], filename or []
    scenario = replace(scenario, namespace=namespace or "default")
    about_pods = offered or options.after or options.node or options.versus
    if any(vars(karpenter).values()):
        if not karpenter.consolidation or not karpenter.catalogue or not words:
            raise UsageError("--consolidation takes names of nodes and --catalogue FILE")
        if about_pods:
            raise UsageError("--consolidation is about nodes: it goes with none of the options about pods")
        nodes = scenario.ask(ExplainNodes(names=words, **vars(karpenter)), (), *vars(karpenter).values())
        answer.finish(nodes, lambda everything: nodes_explained_blocks(nodes))
    if descheduling.deschedule:
        if about_pods:
            raise UsageError("--deschedule is about pods that run: it goes with none of the options about placing them")
        evicted = scenario.ask(ExplainDescheduling(words=words, **vars(descheduling)), (), *vars(descheduling).values())
        answer.finish(evicted, lambda everything: deschedule_explained_blocks(evicted))
    question = question_about(words, offered, namespace, options)
    result = scenario.ask(question, options.after, *words, *offered, with_map=answer.is_mapped)
    answer.finish(result, lambda everything: explain_blocks(result, everything=answer.everything))
