"""The door for Prometheus: what is known of the cluster, and the answers to the questions of ``--watch``.

Series are few: of failures and causes there are the worst, and counts of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kwhatif.serve.gauges import GAUGES
from kwhatif.serve.service import Service
from kwhatif.serve.watch import Answer, LastRound, Watch

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
MOST = 50
"""Series of a question in one metric."""

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Sample = tuple[str, Mapping[str, str], float]


def routes(service: Service) -> list[Route]:
    watch = Watch(service.settings.get("watch", ()), service.workers)
    if watch.questions:
        service.works.append(watch.run())

    async def metrics(_: Request) -> Response:
        return Response(exposition([*_about_cluster(service), *_about_questions(watch)]), media_type=MEDIA)

    return [Route("/metrics", metrics)]


def exposition(samples: Iterable[Sample]) -> str:
    """Samples in Prometheus' text format, by metric."""
    lines: dict[str, list[str]] = {}
    for name, labels, value in samples:
        pairs = ",".join(f'{key}="{_label(text)}"' for key, text in labels.items())
        lines.setdefault(name, []).append(f"{name}{{{pairs}}} {value!r}" if pairs else f"{name} {value!r}")
    heads = {name: (f"# HELP {name} {GAUGES[name].help}", f"# TYPE {name} gauge") for name in lines}
    return "".join(f"{line}\n" for name, own in lines.items() for line in (*heads[name], *own))


def _label(text: str) -> str:
    return text.encode("utf-8", "replace").decode().translate(_ESCAPES)


def _about_cluster(service: Service) -> Iterator[Sample]:
    status = service.status
    yield "kwhatif_cluster_known", {}, int(service.workers.is_ready)
    yield "kwhatif_cluster_nodes", {}, status.nodes
    yield "kwhatif_cluster_pods", {}, status.pods


def _about_questions(watch: Watch) -> Iterator[Sample]:
    pools = {node.name: node.pool for node in watch.nodes}
    for name, last in watch.rounds.items():
        yield "kwhatif_question_answered", {"question": name}, int(last.answered)
        if last.answers:
            yield from _QuestionSamples(name, last, pools).samples()


class _QuestionSamples(msgspec.Struct, frozen=True):
    question: str
    last: LastRound
    pools: Mapping[str, str]

    def samples(self) -> Iterator[Sample]:
        label = {"question": self.question}
        yield "kwhatif_question_answer_timestamp_seconds", label, self.last.at
        yield "kwhatif_question_duration_seconds", label, self.last.seconds
        answers = self.last.answers
        rests = [answer.outcome for answer in answers.values() if answer.outcome is not None]
        if rests:
            yield "kwhatif_question_good", label, int(all(rest.good for rest in rests))
            yield "kwhatif_question_pending_pods", label, sum(len(rest.pending) for rest in rests)
            yield "kwhatif_question_evicted_pods", label, sum(rest.evicted for rest in rests)
            yield "kwhatif_question_unknowns", label, sum(len(rest.unknown) for rest in rests)
        if "" in answers:
            yield from self._of_one(answers[""], label)
        else:
            good = Counter(rest.good for rest in rests)
            yield "kwhatif_nodes_tried", {**label, "good": "true"}, good[True]
            yield "kwhatif_nodes_tried", {**label, "good": "false"}, good[False]

    def _of_one(self, answer: Answer, label: Mapping[str, str]) -> Iterator[Sample]:
        if answer.failures is not None:
            survived = Counter(failure.outcome.good for failure in answer.failures)
            yield "kwhatif_failures", {**label, "survived": "true"}, survived[True]
            yield "kwhatif_failures", {**label, "survived": "false"}, survived[False]
            worst = sorted(
                answer.failures, key=lambda failure: (-len(failure.outcome.pending), failure.kind, failure.name)
            )
            for failure in worst[:MOST]:
                labels = {**label, "kind": failure.kind, "name": failure.name}
                yield "kwhatif_failure_pending_pods", labels, len(failure.outcome.pending)
        if answer.totals is not None:
            for cause in answer.totals.causes[:MOST]:
                yield "kwhatif_pending_pods", {**label, "cause": cause.reason}, cause.pods
            amounts = [(pool.pool, amount) for pool in answer.totals.pools for amount in pool.resources]
            for pool, amount in amounts[: 4 * MOST]:
                labels = {**label, "pool": pool, "resource": amount.resource}
                yield "kwhatif_pool_allocatable", labels, amount.allocatable
                yield "kwhatif_pool_requested", labels, amount.requested
        if answer.fits is not None:
            yield "kwhatif_capacity_fits", label, answer.fits
            room: Counter[str] = Counter()
            for node in answer.rooms:
                room[self.pools.get(node.node, "")] += node.pods
            for pool, pods in sorted(room.items())[:MOST]:
                yield "kwhatif_capacity_pods", {**label, "pool": pool}, pods
