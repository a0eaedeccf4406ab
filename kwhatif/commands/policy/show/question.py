"""The task of ``policy show``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwhatif.commands.policy.rules import FILE, FORMATS, RulesOptions, warn_of
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.scenario_options import ClusterOptions


@dataclass(frozen=True, kw_only=True)
class Show(RulesOptions, Task[Printed]):
    """Print the effective configuration with every default, as kube-scheduler --write-config-to does.

    Without a file it is kube-scheduler's own.
    """

    takes = ClusterOptions
    lacks = frozenset({"now"})
    needs_cluster = False
    prints = DOCUMENT
    examples = ("", "samples/policies/most-allocated.yaml")

    file: Annotated[str | None, FILE] = None
    output: Annotated[
        str, Flag("--output", short="-o", choices=FORMATS, shows_default=True, help="The format to print.")
    ] = "yaml"

    def answer(self, options: ClusterOptions, notes: Notes) -> Printed:
        from kwhatif.policy import as_json, as_yaml, default_configuration, load_configuration
        from kwhatif.render.escape import in_json, in_yaml
        from kwhatif.simulation.policy_file import read_policy

        if self.file is None:
            configuration = default_configuration(self.choose_rules(options, notes))
        else:
            document, source, warnings = read_policy(self.file)
            warn_of(warnings, notes)
            configuration = load_configuration(
                document, source=source, features=self.choose_rules(options, notes, document)
            )
        warn_of(configuration.warnings, notes)
        return Printed(
            text=in_yaml(as_yaml(configuration)) if self.output == "yaml" else in_json(as_json(configuration))
        )
