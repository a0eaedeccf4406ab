"""The annotation that keeps a job or a Workload out of its queue until its gates are gone.

Upstream: pkg/util/webhook (ValidateAdmissionGatedByAnnotationOnCreate).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kwhatif.golang.field_validation import ROOT, dns_subdomain

GATED_BY = "kueue.x-k8s.io/admission-gated-by"
_PATH = ROOT.child("metadata", "annotations").index(GATED_BY)
_PATH_OF_DOMAIN = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
_LONGEST = 63


def gate_problems(annotations: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the gates of a new object."""
    value = annotations.get(GATED_BY) or ""
    gates: set[str] = set()
    for gate in map(str.strip, value.split(",")) if value.strip() else ():
        if not gate:
            yield _PATH.invalid(value, "cannot contain empty gate names")
        elif gate in gates:
            yield _PATH.invalid(value, f"duplicate gate name: {gate}")
        else:
            gates.add(gate)
            yield from _name_problems(gate)


def _name_problems(gate: str) -> Iterator[str]:
    host, _, rest = gate.partition("/")
    if not host or not rest:
        yield _PATH.invalid(gate, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from (_PATH.invalid(host, problem) for problem in dns_subdomain(host))
        if not re.fullmatch(_PATH_OF_DOMAIN, rest):
            yield _PATH.invalid(rest, f"Invalid path (regex used for validation is '{_PATH_OF_DOMAIN}')")
    if len(gate.encode()) > _LONGEST:
        yield f"{_PATH.text}: Too long: may not be more than {_LONGEST} bytes"
