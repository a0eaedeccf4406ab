"""Changes of workloads that let all their pods run, each verified by placing the changed manifests as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.objects import section
from kwhatif.api.workloads_and_storage import PriorityClass
from kwhatif.commands.explain.changed_scenario import prepare_changed
from kwhatif.commands.place.question import Place
from kwhatif.errors import KwhatifError
from kwhatif.policy.render import yaml_text
from kwhatif.results.explain import PodReport, WorkloadFix, WorkloadReport
from kwhatif.results.place import FailedCreate
from kwhatif.simulation.explanation.fixes import MOST_PRIORITY, suggested_pods
from kwhatif.simulation.explanation.workload_changes import (
    WorkloadChange,
    added_nodes,
    change_of_pod,
    change_of_quota,
    changes_of_workload,
    rules_that_differ,
)
from kwhatif.simulation.fewest_nodes import least_nodes, try_fewest
from kwhatif.simulation.node_pools import pool_of
from kwhatif.simulation.placement.pod_origins import PodOrigins
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest, load_manifests
from kwhatif.workloads.objects import integer, name_of, namespace_of

MOST_TRIALS = 16
"""How many changes of a workload are tried."""

MOST_WORKLOADS = 3
"""For how many workloads changes are tried."""

MOST_CLASSES = 2
"""How many priority classes are tried."""

_MAKES = {"Deployment": "ReplicaSet", "CronJob": "Job"}
"""What the controllers of these kinds make pods by."""


class WorkloadFixes(msgspec.Struct):
    """Tries changes of the workloads that were explained, with the manifests of a scenario (``before`` they came).

    ``explained`` is the run without any change, in a ``session``; ``left`` is what was not created in the last try.
    """

    scenario: PreparedScenario
    before: Snapshot
    explained: Run
    left: Sequence[FailedCreate] = ()

    def of_all(self, workloads: Sequence[WorkloadReport], reports: Sequence[PodReport]) -> Iterator[WorkloadReport]:
        """The workloads with the changes that help: of the first of those with a pod that finds no node."""
        by_pod, left = {pod_report.pod: pod_report for pod_report in reports}, MOST_WORKLOADS
        for workload in workloads:
            report = by_pod[workload.explained]
            if left and (not report.placement.good or self._not_created(workload.workload, self.explained)):
                left -= 1
                yield self.of(workload, report)
            else:
                yield workload
        reported = {workload.workload for workload in workloads}
        for manifest in self.scenario.manifests:
            name = "/".join(manifest.key)
            if left and name not in reported and self._not_created(name, self.explained):
                left -= 1
                yield self.of(WorkloadReport(workload=name, pods=0, alone=0, together=0), None)

    def of(self, workload: WorkloadReport, report: PodReport | None) -> WorkloadReport:
        """The workload with the changes that help all its pods, and how many were tried; without a ``report`` of one of
        its pods where none is made.
        """
        manifest = self._manifest_of(workload.workload)
        if manifest is None:
            return workload
        fixes: list[WorkloadFix] = []
        answered: set[str] = set()
        tried = 0

        def attempt(change: WorkloadChange) -> WorkloadFix | None:
            nonlocal tried
            tried += 1
            return self._try(workload.workload, manifest, change) if tried <= MOST_TRIALS else None

        for change in self._changes(workload, report, manifest):
            if change.about not in answered and (fix := attempt(change)) is not None:
                answered.add(change.about)
                fixes.append(fix)
        if report is not None and manifest in self.scenario.manifests:
            fixes += self._fewest_nodes(workload, report, attempt)
        fixes.sort(key=lambda fix: fix.harm)
        return replace(workload, fixes=tuple(fixes), tried=min(tried, MOST_TRIALS))

    def _manifest_of(self, workload: str) -> Manifest | None:
        """The object of a workload (``Kind/namespace/name``): of the manifests, else of the cluster."""
        kind, _, key = workload.partition("/")
        namespace, _, name = key.partition("/")
        wanted = kind, namespace, name
        for manifest in self.scenario.manifests:
            # Of a pod alone its own report says all that helps.
            if manifest.key == wanted and kind != "Pod":
                return manifest
        # What runs already comes anew with an update.
        for body in self.before.whole.get(kind, ()) if kind in ("Deployment", "StatefulSet") else ():
            if _key_of(kind, body) == wanted:
                bare = {key: value for key, value in body.items() if key != "status"}
                return load_manifests([bare], namespace)[0]
        return None

    @staticmethod
    def _not_created(workload: str, run: Run) -> list[FailedCreate]:
        """What controllers could not create of a workload: itself, or the replica sets and jobs that it makes."""
        kind, namespace, name = workload.split("/")
        failures = []
        for failed in run.not_created:
            owner, _, key = failed.owner.partition(" ")
            there, _, made = key.rpartition("/")
            alike = made == name if owner == kind else _MAKES.get(kind) == owner and made.rpartition("-")[0] == name
            failures += [failed] if alike and there in ("", namespace) else []
        return failures

    # --- what is tried

    def _changes(
        self, workload: WorkloadReport, report: PodReport | None, manifest: Manifest
    ) -> Iterator[WorkloadChange]:
        quotas = self.before.whole.get("ResourceQuota", ())
        for failed in self._not_created(workload.workload, self.explained):
            change, self.left = change_of_quota(failed, manifest.obj.namespace, quotas), []
            while change is not None:
                yield change
                wider = (change_of_quota(one, manifest.obj.namespace, quotas, change) for one in self.left)
                change, self.left = next(filter(None, wider), None), []
        if report is None:
            return
        of_pod = [*self._changes_of_pod(report)]
        suggested = {field for _, pod, edited in of_pod for field in rules_that_differ(pod, edited)}
        stuck = any(
            rollout.unfinished for rollout in self.explained.rollouts if rollout.object == _object_of(workload.workload)
        )
        wanted = integer(section(manifest.raw, "spec").get("replicas"), 1)
        without = workload.pods - workload.together
        without += sum(failed_create.pods for failed_create in self._not_created(workload.workload, self.explained))
        runs = any(
            manifest.key == _key_of(kind, other) for kind, all_of in self.before.whole.items() for other in all_of
        )
        classes = self._classes(report)
        fitting = wanted - without
        yield from changes_of_workload(manifest.raw, suggested, fitting, stuck=stuck, runs=runs, classes=classes)
        helps = {fix.change for fix in report.fixes}
        for words, pod, edited in of_pod:
            if words in helps and not rules_that_differ(pod, edited):
                change = change_of_pod(manifest.raw, words, pod, edited)
                yield from [change] if change is not None else []

    def _changes_of_pod(self, report: PodReport) -> Iterator[tuple[str, Pod, Pod]]:
        """What is suggested for the pod that stands for all, where it is a change of its spec."""
        item = next((pod for pod in self.explained.pods_to_schedule if pod.pod.key == report.pod), None)
        if item is None or report.placement.good:
            return
        for change, edited in suggested_pods(self.explained.end.sandbox(), item):
            yield change, item.pod, edited

    def _classes(self, report: PodReport) -> list[str]:
        """Priority classes that are high enough to evict some pod, the lowest first."""
        cluster = self.explained.session.cluster
        mine = report.placement.priority
        others = [info.priority for info, _ in cluster.pods() if info.priority >= mine]
        if report.placement.good or not others:
            return []
        higher = [
            priority_class
            for priority_class in cluster.objects.list_all(PriorityClass)
            if max(mine, min(others)) < priority_class.value < MOST_PRIORITY
            and priority_class.preemption_policy != "Never"
        ]
        return [
            above.name
            for above in sorted(higher, key=lambda priority_class: (priority_class.value, priority_class.name))[
                :MOST_CLASSES
            ]
        ]

    def _fewest_nodes(
        self, workload: WorkloadReport, report: PodReport, attempt: Callable[[WorkloadChange], WorkloadFix | None]
    ) -> Iterator[WorkloadFix]:
        """As many nodes as it takes of each pool that lacks nothing but room, a node a pod at the most."""
        cluster = self.explained.session.cluster
        named = {node.name: node for node in cluster.columns.given}
        short = [node.node for node in report.nodes if node.blockers and all(one.short for one in node.blockers)]
        pools = {pool_of(named[name]) or name: name for name in reversed(short) if name in named}
        missing = workload.pods - workload.together
        items = {item.pod.key: item for item in self.explained.pods_to_schedule}
        without = (
            placement.pod for placement in self.explained.placements if not placement.good and placement.pod in items
        )
        pods = [self.explained.session.info(items[key]) for key in without]
        for pool, name in sorted(pools.items()):
            least = min(least_nodes(cluster, pods, name), missing)

            def add(count: int, like: str = name, pool: str = pool) -> WorkloadFix | None:
                return attempt(added_nodes(count, like, pool))

            if (fix := try_fewest(least, missing, add, evicting=True)) is not None:
                yield fix

    # --- what comes of it

    def _try(self, workload: str, manifest: Manifest, change: WorkloadChange) -> WorkloadFix | None:
        """The change with its effects; None if a pod of the workload is without a node all the same."""
        try:
            run = self._place(manifest, change)
        except KwhatifError:
            return None
        origins, items = PodOrigins(run.session.snapshot), {item.pod.key: item for item in run.pods_to_schedule}
        mine = [
            placement
            for placement in run.placements
            if placement.pod in items
            and placement.pod not in run.removed
            and origins.owner_of(items[placement.pod].pod) == workload
        ]
        pending = {pod.workload or f"Pod/{pod.pod}" for pod in run.pending}
        rollouts = [rollout for rollout in run.rollouts if rollout.object == _object_of(workload)]
        self.left = self._not_created(workload, run)
        missing = self.left or run.refusals or workload in pending
        stuck = any(rollout.unfinished for rollout in rollouts) or not all(placement.good for placement in mine)
        if missing or stuck or not (mine or rollouts):
            return None
        before = {pod.pod for pod in self.explained.pending}
        known = {victim.pod for victim in self.explained.victims}
        return WorkloadFix(
            change=change.change,
            placed=len(mine) + sum(rollout.keeps for rollout in rollouts),
            replaces=sum(rollout.removes for rollout in rollouts),
            victims=tuple(victim.pod for victim in run.victims if victim.pod not in known),
            pending=tuple(pod.pod for pod in run.pending if pod.pod not in before),
            patch=tuple(_patch(change, manifest, self.before)),
        )

    def _place(self, manifest: Manifest, change: WorkloadChange) -> Run:
        """Place all that was asked about, with the changed objects."""
        question = Place(manifests=("-",), detailed=False)
        prepared = prepare_changed(question, self.scenario, self.before, change, [manifest])
        return structs.replace(question.try_out(prepared), **prepared.refusal_fields)


def _patch(change: WorkloadChange, manifest: Manifest, before: Snapshot) -> Iterator[str]:
    """The lines of the changed objects that differ, with those around them."""
    for body in change.objects:
        old: Mapping[str, Any] = manifest.raw
        if body.get("kind") != old.get("kind"):
            kind = body.get("kind", "")
            old = next(other for other in before.whole[kind] if _key_of(kind, other) == _key_of(kind, body))
            old = {key: value for key, value in old.items() if key != "status"}
        was, then = (yaml_text(dict(side_body)).splitlines() for side_body in (old, body))
        title = f"{body.get('kind')} {section(body, 'metadata').get('name')}"
        yield from unified_diff(was, then, f"{title} as it is", f"{title} changed", n=2, lineterm="")


def _key_of(kind: str, body: dict[str, Any]) -> tuple[str, str, str]:
    return kind, namespace_of(body), name_of(body)


def _object_of(workload: str) -> str:
    return workload.replace("/", " ", 1)
