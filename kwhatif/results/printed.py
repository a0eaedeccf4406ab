"""The answer of commands that print one document, or nothing but notes."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Result


class Printed(Result, frozen=True, kw_only=True):
    """A text that is printed as it is, and the exit ``code``."""

    view: ClassVar[str] = "printed:VIEW"

    kind: str = "Printed"
    text: str = ""
    code: int = 0

    @property
    def exit_code(self) -> int:
        return self.code
