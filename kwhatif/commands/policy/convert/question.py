"""The task of ``policy convert``."""

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
class Convert(RulesOptions, Task[Printed]):
    """Write a Policy, or a configuration in an old format, as a KubeSchedulerConfiguration v1.

    What does not mean the same afterwards is listed on standard error. Without a file, standard input is read.
    """

    takes = ClusterOptions
    lacks = frozenset({"now"})
    needs_cluster = False
    prints = DOCUMENT
    examples = ("samples/legacy/policy.json",)

    file: Annotated[str | None, FILE] = None
    to: Annotated[str, Flag("--to", choices=("v1",), shows_default=True, help="The format to write.")] = "v1"
    output: Annotated[
        str,
        Flag(
            "--output",
            short="-o",
            choices=FORMATS,
            shows_default=True,
            help="The format to print; json has the changes, too.",
        ),
    ] = "yaml"

    def answer(self, options: ClusterOptions, notes: Notes) -> Printed:
        from kwhatif.policy.render import convert_configuration, yaml_text
        from kwhatif.render.escape import in_yaml
        from kwhatif.render.formats import plain_json
        from kwhatif.simulation.policy_file import read_policy

        features = self.choose_rules(options, notes)
        document, source, warnings = read_policy("-" if self.file is None else self.file)
        conversion = convert_configuration(document, source=source, features=features)
        warn_of(warnings, notes)
        notes.add(f"changed: {change}" for change in conversion.changes)
        if self.output == "json":
            return Printed(text=plain_json({"configuration": conversion.document, "changes": list(conversion.changes)}))
        return Printed(text=in_yaml(yaml_text(conversion.document)))
