"""``kwhatif upgrade``: what would replacing the nodes of a pool do, and would it end?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import (
    Everything,
    ManifestFlags,
    Tables,
    TablesOutput,
    option,
    seconds,
)
from kwhatif.cli.output import (
    ReportFiles,
    check_stdin,
    finish,
    is_mapped,
    render_result,
    reports_of,
    write_result_reports,
)
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import AutoscalingOptions, Inputs, SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.commands.upgrade.replacing_nodes import NodeChanges

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Strategy(StrEnum):
    """Who replaces the nodes."""

    surge = "surge"
    gke_surge = "gke-surge"
    gke_blue_green = "gke-blue-green"
    eks = "eks"
    aks = "aks"
    capi = "capi"
    karpenter = "karpenter"


class DeletePolicy(StrEnum):
    """Which machines Cluster API deletes first."""

    random = "Random"
    newest = "Newest"
    oldest = "Oldest"


class AfterTimeout(StrEnum):
    """What becomes of a drain that takes too long."""

    force = "force"
    fail = "fail"


Text = str | None
Texts = list[str] | None


@app.command()
@expand_groups
def upgrade(
    pool: Annotated[
        str, option("--pool", metavar="SELECTOR", help="The nodes: a label selector such as 'pool=batch', or a name.")
    ],
    strategy: Annotated[
        Strategy, typer.Option("--strategy", help="Who replaces the nodes, with the defaults of its documents.")
    ] = Strategy.surge,
    surge: Annotated[
        Text, option("--surge", metavar="N|N%", help="So many nodes more than the pool has, meanwhile.")
    ] = None,
    unavailable: Annotated[
        Text, option("--unavailable", metavar="N|N%", help="So many nodes of the pool may be missing, meanwhile.")
    ] = None,
    parallel: Annotated[
        int | None, option("--parallel", metavar="N", min=1, help="Drain at most so many nodes at the same time.")
    ] = None,
    drain_timeout: Annotated[
        Text, option("--drain-timeout", metavar="DURATION", help="How long a drain may take. Default: the strategy's.")
    ] = None,
    after_timeout: Annotated[
        AfterTimeout | None,
        option("--after-timeout", help="Whether a drain that takes longer is forced, or the upgrade fails."),
    ] = None,
    delete_policy: Annotated[
        DeletePolicy | None,
        option("--delete-policy", help="Of 'capi': which nodes go first, after those that are not ready."),
    ] = None,
    node_soak: Annotated[
        Text, option("--node-soak", metavar="DURATION", help="How long an empty node stays before it is deleted.")
    ] = None,
    pool_soak: Annotated[
        Text, option("--pool-soak", metavar="DURATION", help="How long the old pool stays after it was drained.")
    ] = None,
    grace: Annotated[
        Text, option("--grace", metavar="DURATION", help="A grace period for all pods. Default: each pod's own.")
    ] = None,
    ready_after: Annotated[
        Texts,
        option(
            "--ready-after",
            metavar="[NAME=]DURATION",
            help="How long a pod takes to become ready, of all workloads or of one (repeatable). Default: 30s.",
        ),
    ] = None,
    within: Annotated[Text, option("--within", metavar="DURATION", help="How long all of it may take.")] = None,
    prices: Annotated[
        Text,
        option("--prices", metavar="FILE", help="An InstanceTypes catalogue, or a table of instance types' prices."),
    ] = None,
    new_version: Annotated[
        Text, option("--new-version", metavar="VERSION", help="The kubelet's version on new nodes, such as v1.35.2.")
    ] = None,
    new_label: Annotated[
        Texts, option("--new-label", metavar="KEY=VALUE|KEY-", help="A label of new nodes, or one less (repeatable).")
    ] = None,
    new_taint: Annotated[
        Texts, option("--new-taint", metavar="KEY[=VALUE]:EFFECT", help="A further taint of new nodes (repeatable).")
    ] = None,
    new_size: Annotated[
        Texts, option("--new-size", metavar="RESOURCE=AMOUNT", help="What new nodes have instead (repeatable).")
    ] = None,
    report: ReportFiles = None,
    everything: Everything = False,
    output: TablesOutput = Tables.table,
    *,
    cluster: ClusterFlags,
    reading: ManifestFlags,
    engine: SchedulerOptions,
    edits: EditOptions,
    scaling: AutoscalingOptions,
) -> None:
    """Replace the nodes of a pool in simulated time, as the service that runs it would.

    Nodes are cordoned and drained as far as disruption budgets allow; pods take their grace period to go, are made
    again, find a node or wait for one, and become ready. What is in the way is named.

    Exit codes: 0 the answer is good, 1 it is not: a node is not replaced, not in time or by force, or a pod has no
    node, 2 usage or input error.
    """
    from kwhatif.commands.sweep.measures import read_prices
    from kwhatif.commands.upgrade.evictions import EvictionTimes
    from kwhatif.commands.upgrade.run import PlanOptions, Upgrade
    from kwhatif.commands.upgrade.text import upgrade_blocks
    from kwhatif.simulation.pipeline import ask
    from kwhatif.simulation.question import Scenario

    source, reports = cluster.require_source(), reports_of(report)
    check_stdin(source, prices, *(scaling.autoscale or ()), engine.policy, *(edits.edits or ()))
    question = Upgrade(
        pool,
        strategy.value,
        PlanOptions(
            surge,
            unavailable,
            parallel,
            _seconds(drain_timeout, "--drain-timeout"),
            None if after_timeout is None else after_timeout.value,
            _seconds(node_soak, "--node-soak"),
            _seconds(pool_soak, "--pool-soak"),
            None if delete_policy is None else delete_policy.value,
        ),
        EvictionTimes(_seconds(grace, "--grace"), dict(_readiness(ready_after or ()))),
        _changes(new_version, new_label or (), new_taint or (), new_size or ()),
        scaling.provision_seconds,
        _seconds(within, "--within"),
        None if prices is None else read_prices(prices),
    )
    result = ask(
        question,
        Scenario(
            Inputs(
                source,
                (),
                "default",
                edits or None,
                reading,
                with_map=is_mapped(reports),
                autoscale=scaling.autoscale,
                provision=scaling.provision_seconds,
            ),
            engine,
        ),
    )
    write_result_reports(reports, result, lambda: upgrade_blocks(result))
    text = render_result(result, output, lambda: upgrade_blocks(result), everything=everything)
    finish(text, result.exit_code, result.notes)


def _seconds(text: str | None, option: str) -> float | None:
    return None if text is None else seconds(text, option)


def _readiness(texts: Sequence[str]) -> Iterator[tuple[str, float]]:
    yield "", 30.0
    for text in texts:
        name, _, length = text.rpartition("=")
        yield name, seconds(length, "--ready-after")


def _changes(version: str | None, labels: Sequence[str], taints: Sequence[str], sizes: Sequence[str]) -> NodeChanges:
    from kwhatif.api.core import Taint
    from kwhatif.api.quantity import Quantity, QuantityError
    from kwhatif.commands.upgrade.replacing_nodes import NodeChanges

    new_labels: dict[str, str | None] = {}
    for text in labels:
        key, equals, value = text.partition("=")
        if not equals and not text.endswith("-"):
            raise UsageError(f"--new-label {text}: expected KEY=VALUE or KEY-")
        new_labels[key if equals else text[:-1]] = value if equals else None
    new_taints = []
    for text in taints:
        what, colon, effect = text.rpartition(":")
        if not colon or effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            raise UsageError(f"--new-taint {text}: expected KEY[=VALUE]:EFFECT")
        key, _, value = what.partition("=")
        new_taints.append(Taint(key=key, value=value or None, effect=effect))
    amounts = {}
    for text in sizes:
        name, equals, amount = text.partition("=")
        if not equals:
            raise UsageError(f"--new-size {text}: expected RESOURCE=AMOUNT")
        try:
            amounts[name] = Quantity.parse(amount)
        except QuantityError as error:
            raise UsageError(f"--new-size {text}: {error}") from None
    return NodeChanges(new_labels, new_taints, amounts, version or "")
