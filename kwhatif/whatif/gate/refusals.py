"""What the API server refused of a workload: the object itself, or pods that its controller would have made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kwhatif.results.amounts import counted
from kwhatif.results.gate import Finding
from kwhatif.whatif.gate.context import Context
from kwhatif.whatif.gate.rule import P, Rule

_QUOTA = re.compile(r"\b(exceeded|failed) quota: ")


def of_quota(message: str) -> bool:
    """Whether a ResourceQuota is why."""
    return _QUOTA.search(message) is not None


def refused(rule: Rule[P], context: Context, mine: Callable[[str], bool], hint: str) -> Iterator[Finding]:
    """A finding for each refusal whose message is the rule's."""
    found = 0
    for unit in rule.units(context):
        for refusal in unit.refusals:
            if mine(refusal.message):
                found += 1
                yield rule.about(
                    unit,
                    f"the API server refuses {refusal.object}",
                    refusal.message,
                    about="object",
                    numbers={"code": refusal.code, "reason": refusal.reason},
                    hint=hint,
                )
        failed = [each for each in unit.failed if mine(each.message)]
        if failed:
            found += 1
            pods = sum(each.pods for each in failed)
            yield rule.about(
                unit,
                f"{counted(pods, 'pod')} cannot be made",
                "; ".join(dict.fromkeys(f"{each.owner}: {each.message}" for each in failed)),
                about="pods",
                numbers={"pods": pods},
                hint=hint,
            )
    rule.summary = f"{counted(found, 'refusal')} in {counted(rule.checked, 'workload')}"
