"""Results of ``conformance``: agreement by file."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Result, ResultStruct


class Difference(ResultStruct, frozen=True, kw_only=True):
    """A field of one pod's attempts (or of the scenario, then ``pod`` is empty) that was recorded otherwise."""

    scenario: str
    pod: str
    field: str
    text: str


class FileAgreement(ResultStruct, frozen=True, kw_only=True):
    """How far a file of recorded scenarios agrees.

    Of ``scenarios``, those with an expectation were ``compared``; ``agreeing`` ones agree in everything.
    ``differing`` counts pods by field (and scenarios, for ``nodeOrder``); only some ``differences`` are kept.
    """

    file: str
    scenarios: int
    compared: int
    agreeing: int
    pods: int
    differing: dict[str, int]
    differences: tuple[Difference, ...] = ()


class ConformanceResult(Result, frozen=True, kw_only=True):
    """How far recorded decisions agree with kwhatif's."""

    schema: ClassVar[str] = "conformance-result"
    about: ClassVar[str] = "How far replayed decisions agree with the recorded ones"
    view: ClassVar[str] = "conformance.text:VIEW"

    kind: str = "ConformanceResult"
    files: tuple[FileAgreement, ...]

    @property
    def exit_code(self) -> int:
        return 0 if all(file.agreeing == file.compared for file in self.files) else 1
