"""The outcome of all failures together."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import structs

from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.disruption import Failure, OutageResult
from kwhatif.results.outcome import EvictedPod, NotCreated, Outcome, PendingPod, lead_with
from kwhatif.simulation.placement.conclusion import conclude_in_words
from kwhatif.simulation.placement.run import Run


def outcome_of_outage(result: OutageResult, run: Run) -> Outcome:
    """Good if all that must be survived is; the ``run`` says what never came to be before.

    A pod waits, or loses its node, if it does so after one of the failures; what each of them comes to is in its own
    outcome.
    """
    unsure = any(result.must_survive(error.kind) for error in result.errors)
    pending, victims = tuple(_pending(result.failures)), tuple(_victims(result.failures))
    ended = structs.replace(run, pending=pending, victims=victims)
    missing = tuple(_not_created(result.failures))
    unknown = [f"{format_count(len(result.errors), 'failure')} not simulated"] if result.errors else []
    one = result.failures[0] if len(result.failures) == 1 and not unknown else None
    words, loss = (_words_of(result), "") if one is None else (words_of_failure(one), f" the loss of {one.title}")
    outcome = conclude_in_words(ended, result.fidelity, [words, *unknown])
    good = not (result.unsurvived_failures or unsure or run.refusals or run.not_created)
    verdict = lead_with((f"Survives{loss}", f"Does not survive{loss}"), outcome.verdict, good=good)
    return msgspec.structs.replace(outcome, good=good, verdict=verdict, not_created=(*outcome.not_created, *missing))


def _not_created(failures: Iterable[Failure]) -> Iterable[NotCreated]:
    """By workload, after the failure that leaves the most."""
    of_all = (missing for failure in failures for missing in failure.outcome.not_created)
    return {lack.workload: lack for lack in sorted(of_all, key=lambda missing: missing.pods)}.values()


def _pending(failures: Iterable[Failure]) -> Iterable[PendingPod]:
    return {pod.pod: pod for failure in reversed(list(failures)) for pod in failure.outcome.pending}.values()


def _victims(failures: Iterable[Failure]) -> Iterable[EvictedPod]:
    return {pod.pod: pod for failure in reversed(list(failures)) for pod in failure.outcome.victims}.values()


def _words_of(result: OutageResult) -> str:
    """``38 of 40 nodes, 1 of 3 zones; must survive: zone a``."""
    scopes = [scope for scope in result.scopes if scope.asked]
    parts = [f"{scope.survived} of {format_count(scope.asked, _many(scope.kind))}" for scope in scopes]
    text = ", ".join(parts) or "no failure was tried"
    text += " survived" if any(scope.survived < scope.asked for scope in result.scopes) else ""
    if result.survive:
        broken = [failure.title for failure in result.unsurvived_failures]
        text += f"; must survive: {format_some(broken) if broken else 'every ' + ' and '.join(result.survive)}"
    return text


def words_of_failure(failure: Failure) -> str:
    """``4 of 15 pods find no node, 1 workload down``."""
    without = failure.stuck - failure.homeless
    find = "finds" if without == 1 else "find"
    parts = [f"{without} of {format_count(failure.pods - failure.bound, 'pod')} {find} no node"] if without else []
    parts += [f"{format_count(failure.homeless, 'evicted pod')} pending"] if failure.homeless else []
    parts += [f"{failure.lost} lost"] if failure.lost else []
    parts += [f"{format_count(failure.down, 'workload')} down"] if failure.down else []
    parts += [f"{format_count(failure.new_nodes, 'new node')}"] if failure.new_nodes else []
    return ", ".join(parts) or "all pods come back"


def _many(kind: str) -> str:
    return {"pair": "node pair"}.get(kind, kind)
