"""Where the pods of a pod set go: domains of a topology with counts, and their short form in the API.

Upstream: pkg/util/tas/tas_assignment.go.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kwhatif.api import kueue as api
from kwhatif.errors import InputError

MOST_DOMAINS = 100_000
"""Of one slice; upstream's API has the same bound."""


class TopologyAssignment(msgspec.Struct, frozen=True):
    """``domains`` are pairs of the values of the levels and the count of pods."""

    levels: tuple[str, ...]
    domains: tuple[tuple[tuple[str, ...], int], ...]


def decode_assignment(stored: api.TopologyAssignment) -> TopologyAssignment:
    """Raises InputError for slices whose parts are not of one length."""
    levels = tuple(stored.levels or ())
    if stored.domains is not None:
        return TopologyAssignment(
            levels, tuple((tuple(domain.values or ()), domain.count) for domain in stored.domains)
        )
    return TopologyAssignment(
        levels,
        tuple(
            domain
            for topology_assignment_slice in stored.slices or ()
            for domain in _domains(topology_assignment_slice)
        ),
    )


def _domains(part: api.TopologyAssignmentSlice) -> Iterator[tuple[tuple[str, ...], int]]:
    if not 0 <= part.domain_count <= MOST_DOMAINS:
        raise InputError(f"a slice of a topology assignment has at most {MOST_DOMAINS} domains")
    columns = [_values(level_values, part.domain_count) for level_values in part.values_per_level or ()]
    counts = part.pod_counts.individual
    if counts is None:
        counts = [part.pod_counts.universal or 0] * part.domain_count
    if any(len(column) != part.domain_count for column in columns) or len(counts) != part.domain_count:
        raise InputError(
            f"expected {part.domain_count} values for each level of a topology assignment's slice, found another number"
        )
    for k, count in enumerate(counts):
        yield tuple(column[k] for column in columns), count


def _values(level: api.LevelValues, count: int) -> list[str]:
    if level.individual is None:
        return [level.universal or ""] * count
    prefix, suffix = level.individual.prefix or "", level.individual.suffix or ""
    return [f"{prefix}{root}{suffix}" for root in level.individual.roots or ()]
