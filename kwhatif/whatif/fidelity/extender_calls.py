"""What an answer owes to extenders: how often they were called, what failed, and what was taken for granted."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from kwhatif.results.parts import Gap

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.asking import Extenders
    from kwhatif.scheduling.extenders.client import Extender, Failure


def extender_gaps(extenders: Extenders, asked: Collection[str]) -> Iterator[Gap]:
    """For each extender its calls, and its failures by what they led to. ``asked`` are the pods asked about."""
    for extender in extenders.all:
        yield Gap(
            what=f"extender {extender.name} was asked: {_calls(extender)}",
            effect="its answers are those of the moment: the same question may find others",
        )
        kinds = dict.fromkeys((failure.point, failure.outcome) for failure in extender.failures)
        for point, outcome in kinds:
            failures = [f for f in extender.failures if (f.point, f.outcome) == (point, outcome)]
            yield Gap(
                what=f"extender {extender.name} failed to {point} {_times(failures)}: {_texts(failures)}",
                effect=outcome,
                pods=tuple(dict.fromkeys(f.pod for f in failures if f.pod in asked)),
            )
        if extender.assumed:
            yield Gap(
                what=f"extender {extender.name} would bind {_number(len(set(extender.assumed)), 'pod')}, "
                "and was not asked to (--call-extender-bind does)",
                effect="these bindings are taken to succeed",
            )
        if extender.emptied:
            yield Gap(
                what=f"extender {extender.name} sent whole nodes back, and kube-scheduler scores what was sent",
                effect="plugins that look at nodes one by one score them as if they ran no pods and held no images",
            )


def _calls(extender: Extender) -> str:
    calls = ", ".join(f"{number} {point}" for point, number in sorted(extender.calls.items())) or "no call"
    late = sum(failure.late for failure in extender.failures)
    parts = [calls]
    if extender.failures:
        parts.append(f"{len(extender.failures)} failed")
    if late:
        parts.append(f"{late} of them timed out")
    if extender.spared:
        parts.append(f"{_number(extender.spared, 'call')} not made, since so many in a row had timed out")
    return ", ".join(parts)


def _times(failures: Collection[Failure]) -> str:
    return "once" if len(failures) == 1 else f"{len(failures)} times"


def _texts(failures: Collection[Failure]) -> str:
    texts = list(dict.fromkeys(failure.text for failure in failures))
    return texts[0] + (f" (and {_number(len(texts) - 1, 'other error')})" if len(texts) > 1 else "")


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
