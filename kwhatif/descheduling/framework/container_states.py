"""Reasons, exit codes and restarts of containers, from pod statuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kwhatif.api.core import ContainerStatus

Statuses = Sequence[ContainerStatus] | None


def waiting_reasons(statuses: Statuses) -> Iterator[str]:
    """Why containers wait; an empty text for one that does not say."""
    for status in statuses or ():
        if status.state is not None and status.state.waiting is not None:
            yield status.state.waiting.reason or ""


def failure_reasons(statuses: Statuses) -> Iterator[str]:
    """Why containers wait or have ended, where they say so."""
    for status in statuses or ():
        state = status.state
        if state is not None and state.waiting is not None and state.waiting.reason:
            yield state.waiting.reason
        if state is not None and state.terminated is not None and state.terminated.reason:
            yield state.terminated.reason


def exit_codes(statuses: Statuses) -> Iterator[int]:
    """The exit codes of containers that have ended."""
    for status in statuses or ():
        if status.state is not None and status.state.terminated is not None:
            yield status.state.terminated.exit_code or 0


def restarts(statuses: Iterable[ContainerStatus] | None) -> int:
    """How often containers were restarted, added up."""
    return sum(status.restart_count or 0 for status in statuses or ())
