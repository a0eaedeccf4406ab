"""``kwhatif conformance``: replay recorded decisions of a real kube-scheduler or autoscaler and compare."""

from __future__ import annotations

import contextlib
from typing import IO, TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.option_groups import Only, expand_groups
from kwhatif.cli.options import Everything, Tables, TablesOutput, argument, option
from kwhatif.cli.output import compress_file, finish, new_file, render_result
from kwhatif.progress import track
from kwhatif.simulation.inputs import SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.versions import Features

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def conformance(
    files: Annotated[
        list[str],
        argument(
            metavar="FILE",
            help="Scenarios: JSON Lines, or one JSON object a file, packed or not; directories; '-' for stdin.",
        ),
    ],
    answers: Annotated[
        str | None,
        option(
            "--answers",
            metavar="OUT",
            help="Write the answers here, a line a scenario; packed if it ends in .gz or .zst.",
        ),
    ] = None,
    show: Annotated[int, typer.Option("--show", metavar="N", min=0, help="Differences to print for each file.")] = 5,
    everything: Everything = False,
    output: TablesOutput = Tables.table,
    kubernetes_version: Annotated[
        str | None,
        option(
            "--kubernetes-version",
            metavar="VERSION",
            help="The Kubernetes whose rules apply. Default: the minor that the file's name begins with, "
            "as in 1.34-volumes.jsonl.gz, else the newest; 1.22 for scenarios with a legacy Policy.",
        ),
    ] = None,
    *,
    engine: Annotated[SchedulerOptions, Only("feature_gates", "plugins", "skip_unknown_plugins")],
) -> None:
    """Replay scenarios, and compare the answers with what a real kube-scheduler was recorded to do.

    Scenarios with nodeGroups are of cluster-autoscaler, those with nodePools of Karpenter, those with a
    DeschedulerPolicy of the descheduler, and those with Kueue's Configuration of Kueue.

    Exit codes: 0 the answer is good, 1 it is not: something differs, 2 usage or input error.
    """
    import msgspec

    from kwhatif.commands.conformance.compare import Tally
    from kwhatif.commands.conformance.result import ConformanceResult
    from kwhatif.commands.conformance.scenario_files import pods_in, read_scenarios, replay_scenario, scenario_files
    from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
    from kwhatif.commands.conformance.text import conformance_blocks
    from kwhatif.framework.outside import load_outside
    from kwhatif.simulation.inputs import Notes
    from kwhatif.simulation.version_options import choose_minor, minor_in_name
    from kwhatif.snapshot.read.files import display_path
    from kwhatif.versions.minors import LEGACY_MINOR

    outside = load_outside(engine.plugins or ())
    notes = Notes()
    encoder = msgspec.json.Encoder()
    by_minor: dict[str, Features] = {}
    results = []
    with contextlib.ExitStack() as stack:
        out: IO[bytes] | None = None
        if answers is not None:
            out = stack.enter_context(compress_file(stack.enter_context(new_file(answers)), answers))
        for file in scenario_files(files):
            tally = Tally(display_path(file), show)
            named = "" if kubernetes_version else minor_in_name(file)
            replaying = track(read_scenarios(file), f"Replaying {display_path(file)}", "scenarios")
            for where, scenario in replaying:
                legacy = isinstance(scenario, SchedulerScenario) and scenario.policy is not None
                minor = LEGACY_MINOR if legacy and not kubernetes_version else named
                if minor not in by_minor:
                    by_minor[minor] = choose_minor(
                        kubernetes_version, engine.feature_gates, notes, otherwise=minor, legacy=True
                    )
                got = replay_scenario(
                    scenario,
                    source=where,
                    features=by_minor[minor],
                    outside=outside,
                    skip_unknown=engine.skip_unknown_plugins,
                )
                if out is not None:
                    out.write(encoder.encode(got) + b"\n")
                partly = isinstance(scenario, SchedulerScenario) and scenario.ties is not None
                tally.add(scenario.name, scenario.expected, got, pods=pods_in(scenario), partly=partly)
            results.append(tally.result())
    result = ConformanceResult(files=tuple(results))
    text = render_result(result, output, lambda: conformance_blocks(result), everything=everything)
    finish(text, result.exit_code, notes)
