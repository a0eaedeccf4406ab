"""The task of ``policy validate``."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kwhatif.commands.policy.rules import FILE, RulesOptions, warn_of
from kwhatif.commands.policy.validate.result import PolicyCheck
from kwhatif.errors import InputError, PolicyError
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.scenario_options import ClusterOptions

if TYPE_CHECKING:
    from kwhatif.policy import SchedulerConfiguration
    from kwhatif.versions import Features


@dataclass(frozen=True, kw_only=True)
class Validate(RulesOptions, Task[PolicyCheck]):
    """Say whether kube-scheduler would start with this file."""

    takes = ClusterOptions
    lacks = frozenset({"now"})
    needs_cluster = False
    prints = DOCUMENT
    exit_1_when = "kube-scheduler would not take it, for the errors that are printed"
    examples = ("samples/policies/most-allocated.yaml",)

    file: Annotated[str | None, dataclasses.replace(FILE, required=True)] = None
    out_of_tree: Annotated[
        Sequence[str],
        Flag(
            "--out-of-tree",
            help="A plugin of your scheduler that kube-scheduler lacks, as NAME or NAME=point,point (repeatable). "
            "Without points it is accepted wherever the file names it.",
        ),
    ] = ()

    def answer(self, options: ClusterOptions, notes: Notes) -> PolicyCheck:
        from kwhatif.policy import examine
        from kwhatif.simulation.policy_file import is_duplicate_key, read_policy

        assert self.file is not None
        document: object = None
        source = self.file
        warnings: Collection[str] = ()
        problems: tuple[str, ...] = ()
        try:
            document, source, warnings = read_policy(self.file)
        except InputError as error:
            if not is_duplicate_key(error):
                raise
            problems = (str(error),)
        features = self.choose_rules(options, notes, document)
        if not problems:
            warn_of(warnings, notes)
            outcome = examine(document, source=source, features=features, accept_removed=False)
            problems = outcome.problems
            if outcome.configuration is not None:
                warn_of(outcome.configuration.warnings, notes)
                problems = _start(outcome.configuration, features, self.out_of_tree, notes)
        return PolicyCheck(source=source, rules=features.minor, problems=problems)


def _start(
    configuration: SchedulerConfiguration, features: Features, out_of_tree: Collection[str], notes: Notes
) -> tuple[str, ...]:
    """What kube-scheduler says when it sets up the profiles, with these plugins compiled in."""
    from kwhatif.policy import EXTENSION_POINTS, expand_all
    from kwhatif.policy.in_tree import in_tree

    points = dict(in_tree(features).points)
    for word in out_of_tree:
        name, _, given = word.partition("=")
        placed = (
            point
            for profile in configuration.profiles
            for point in EXTENSION_POINTS
            if point in profile.plugins and any(ref.name == name for ref in profile.plugins[point].enabled)
        )
        points[name] = tuple(given.split(",")) if given else tuple(placed)
    try:
        expand_all(configuration, points.get)
    except PolicyError as error:
        refs = (
            ref for profile in configuration.profiles for plugins in profile.plugins.values() for ref in plugins.enabled
        )
        unknown = {ref.name for ref in refs} - points.keys()
        if unknown:
            words = " ".join(f"--out-of-tree {name}" for name in sorted(unknown))
            notes.note(f"if your scheduler has plugins that kube-scheduler lacks: {words}")
        return (str(error),)
    return ()
