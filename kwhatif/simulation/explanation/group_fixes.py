"""Changes that would let a group run: of the group, of one of its domains or of other pods.

Each was tried by scheduling the whole group in a copy of the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
from msgspec import structs

from kwhatif.plugins.shared.pod_changes import with_priority
from kwhatif.results.amounts import format_some
from kwhatif.results.explain import GroupFix
from kwhatif.results.group_outcome import DomainOutcome, GroupOutcome
from kwhatif.scheduling.pod_group_preemption import units_of
from kwhatif.simulation.edits.cordon import uncordon_node
from kwhatif.simulation.explanation.group_room import Departure, find_departure, rows_of_domain
from kwhatif.simulation.explanation.group_trials import (
    GroupTrials,
    TriedGroup,
    with_group_priority,
    with_min_count,
    without_constraints,
)
from kwhatif.simulation.session import PodToSchedule, Session

MOST_DOMAINS = 3
"""The most domains for which leaving pods are searched, those that lack the least first."""

MOST_LEVELS = 3
"""The most priorities that are tried."""

MOST_PRIORITY = 1_000_000_000
"""No PriorityClass but those of the system may have a higher value."""

_INSUFFICIENT = re.compile(r"Insufficient ([\w./-]*\w)")

_Candidate = tuple[str, TriedGroup | Departure | None]
"""A change, and the group's result with it; None if it does not help."""


def group_fixes(trials: GroupTrials, outcome: GroupOutcome) -> tuple[tuple[GroupFix, ...], int]:
    """Changes that let a group run, and the number tried. ``outcome`` is the group's result without them."""
    fixes: list[GroupFix] = []
    tried = 0
    for change, result in _Changes(trials, outcome).candidates():
        tried += 1
        group = result.tried if isinstance(result, Departure) else result
        if group is None or not group.works:
            continue
        leaving = result.leaving if isinstance(result, Departure) else ()
        domain, evicted = group.domain, format_some(group.outcome.evicted)
        text = change + (f", which evicts {evicted}" if evicted else "")
        fixes.append(GroupFix(change=text, domain=domain, bound=group.outcome.bound, leaving=leaving))
    return tuple(fixes), tried


class _Changes(msgspec.Struct):
    trials: GroupTrials
    outcome: GroupOutcome

    def candidates(self) -> Iterator[_Candidate]:
        if self.trials.group is None:
            return
        yield from self._min_counts()
        if self.outcome.outcome == "gated":
            return
        nearest = sorted(self.outcome.domains, key=lambda domain: (-domain.fit, domain.name))
        yield from self._departures(nearest[:MOST_DOMAINS])
        yield from self._cordons(nearest)
        if self._key:
            yield "without its topology constraint it runs", self.trials.with_group(without_constraints)
        else:
            yield from self._priorities()

    @property
    def _key(self) -> str:
        group = self.trials.group
        return (group.topology_key if group is not None else "") or ""

    def _min_counts(self) -> Iterator[_Candidate]:
        """The largest quorum that is met: the members that fit, as the group fails, or as it does with the pods there.

        Where members are missing, the first attempt shows how many of the present ones would fit.
        """
        outcome = self.outcome
        least = outcome.members if outcome.outcome == "gated" else outcome.fit + outcome.running
        while 0 < least < outcome.needs:
            tried = self.trials.with_group(partial(with_min_count, least=least))
            yield f"minCount {least} in place of {outcome.needs} would run today", tried
            fits = tried.outcome.fit + tried.outcome.running
            if tried.works or fits >= least:
                return
            least = fits

    def _departures(self, domains: Sequence[DomainOutcome]) -> Iterator[_Candidate]:
        for domain in domains:
            rows = rows_of_domain(self.trials.session, self._key, domain.name)
            departure = find_departure(self.trials, rows, _scarce(domain))
            # The engine has the last word on where it runs.
            held = "" if departure is None else departure.tried.domain
            change = "" if departure is None else _describe_departure(departure)
            yield f"{change} and {f'{held} holds it' if held else 'it runs'}", departure

    def _cordons(self, domains: Sequence[DomainOutcome]) -> Iterator[_Candidate]:
        """The cordoned nodes of a domain uncordoned together."""
        columns = self.trials.session.cluster.columns
        for domain in domains:
            rows = rows_of_domain(self.trials.session, self._key, domain.name)
            names = sorted(columns.names[row] for row in rows if columns.nodes[row].spec.unschedulable)
            if names:
                what = f"uncordon {format_some(names)} and {f'{domain.name} holds it' if domain.name else 'it runs'}"
                yield what, self.trials.attempt(partial(_uncordon, names=frozenset(names)))

    def _priorities(self) -> Iterator[_Candidate]:
        """Priorities just high enough to preempt a pod: the group's, or those of its members where they preempt one by
        one.
        """
        trials, cluster = self.trials, self.trials.session.cluster
        if any(item.pod.spec.preemption_policy == "Never" for item in trials.members):
            return
        as_whole = trials.session.setup.features.workload_aware_preemption
        group = trials.group
        own = (group.priority if group is not None else 0) if as_whole else trials.priority
        whose = "its" if as_whole else "its members'"
        levels = {unit.priority for unit in units_of(cluster) if own <= unit.priority < MOST_PRIORITY}
        for level in sorted(levels)[:MOST_LEVELS]:
            raised = level + 1
            if as_whole:
                tried = trials.with_group(partial(with_group_priority, priority=raised))
            else:
                tried = trials.with_members(partial(_raise, priority=raised))
            yield f"raise {whose} priority from {own} to {raised}", tried
            if tried.works:
                return


def _raise(item: PodToSchedule, priority: int) -> PodToSchedule:
    return structs.replace(item, pod=with_priority(item.pod, max(priority, item.pod.spec.priority or 0)))


def _uncordon(session: Session, names: frozenset[str]) -> None:
    given = session.cluster.columns.given
    session.cluster.replace_nodes([uncordon_node(node) if node.name in names else node for node in given])


def _scarce(domain: DomainOutcome) -> list[str]:
    """The resources that the next member lacks, by its rejections."""
    return sorted(set(_INSUFFICIENT.findall(domain.reason)))


def _describe_departure(departure: Departure) -> str:
    """``move ml/batch-7 (priority -10)``; of pods that would find no other node, that they are drained."""
    names = format_some([f"{victim.pod} (priority {victim.priority})" for victim in departure.leaving])
    if departure.all_land:
        return f"drain or move {names}"
    homeless = [victim for victim in departure.leaving if not victim.lands_on]
    if len(homeless) == len(departure.leaving):
        return f"drain {names}, which {'finds' if len(homeless) == 1 else 'find'} no other node,"
    return f"drain {names}, {len(homeless)} of which find no other node,"
