"""Which pod of one side is which of the other: that of the same name, else the next one of the same workload.

The pods of a deployment whose template has changed have other names; they are the first, the second and so on all the
same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def pairs(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The pods of both sides, each given with its workload (``Deployment shop/web``) or nothing: those of A in their
    order, then those that only B has. Nothing stands for one that is missing.
    """
    left: dict[str, list[str]] = {}
    for pod, workload in reversed(list(b.items())):
        if pod not in a:
            left.setdefault(workload or pod, []).append(pod)
    matched = set()
    for pod, workload in a.items():
        other = pod if pod in b else ""
        if not other and left.get(workload):
            other = left[workload].pop()
        matched.add(other)
        yield pod, other
    yield from (("", pod) for pod in b if pod not in matched)
