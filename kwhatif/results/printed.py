"""The answer of commands that print one document, or nothing but notes."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Result


class Printed(Result, frozen=True, kw_only=True):
    """A text that is printed as it is; a ``good`` one ends with exit code 0."""

    view: ClassVar[str] = "printed:VIEW"

    kind: str = "Printed"
    text: str = ""
    good: bool = True

    @property
    def exit_code(self) -> int:
        return 0 if self.good else 1
