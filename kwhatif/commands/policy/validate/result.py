"""The result of ``policy validate``."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Result


class PolicyCheck(Result, frozen=True, kw_only=True):
    """Whether kube-scheduler of the minor ``rules`` starts with a configuration, and what it says if not."""

    rows: ClassVar[str] = "problems"
    view: ClassVar[str] = "policy.validate.text:VIEW"

    kind: str = "PolicyCheck"
    source: str
    rules: str
    problems: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return 1 if self.problems else 0
