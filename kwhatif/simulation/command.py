"""A command is a class. Its fields with their ``Flag`` are its options: those of the command line, the keywords of the
Python function, the names in JSON and the reference are made of them, and of what the class says of itself.

    @dataclass(frozen=True, kw_only=True)
    class Capacity(Question[CapacityResult]):
        '''Count how many more of a pod fit.'''

        takes = AutoscaledOptions
        exit_1_when = "fewer fit than --at-least says"
        examples = ("web.yaml --snapshot cluster.json",)

        at_least: Annotated[int, Flag("--at-least", metavar="N", help="Exit with 1 if fewer than N fit.")] = 1

What it takes besides is a cluster, and how pods come to it and are scheduled: ``takes`` is the class of these options.
All of them are options of the command, but for those that it ``lacks``.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from kwhatif.simulation.flag import Flag

if TYPE_CHECKING:
    from kwhatif.results.base import Result
    from kwhatif.simulation.inputs import Notes
    from kwhatif.simulation.repository_policy import ReadPolicy

R_co = TypeVar("R_co", bound="Result", covariant=True)

REPORTS = ("html", "json", "yaml", "markdown")
"""What every report may be; html is a page to look at, of answers that have one."""

WITHOUT_PAGE = REPORTS[1:]
"""What the report of an answer without a page may be."""


@dataclass(frozen=True)
class Output:
    """How answers are printed: the ``formats`` of ``-o``, the first by default, and those of ``--report``; either may
    be none. ``rows`` is the flag for all rows of long tables, ``variable`` stands for ``-o``.
    """

    formats: tuple[str, ...] = ("table", "wide", "json", "yaml", "markdown")
    reports: tuple[str, ...] = REPORTS
    rows: str = "--all"
    rows_help: str = "Show every row. Default: tables from 20 rows on are grouped."
    help: str = "The format to print."
    report_help: str = ""
    variable: str = ""

    def describe_reports(self) -> str:
        """The help of ``--report``."""
        page = "html (one page to look at, offline), " if "html" in self.reports else ""
        return self.report_help or f"Also write a report to a file: {page}json, yaml or markdown (repeatable)."


TABLES = Output()
FILES = Output(reports=())
"""What is printed is about files, of which no page is drawn and no report is wanted."""

DOCUMENT = Output(formats=(), reports=(), rows="")
"""What is printed is one document, or nothing but notes."""


class Command(ABC, Generic[R_co]):
    """What all commands say of themselves. The docstring is the help, and that of the Python function."""

    takes: ClassVar[type[Any] | None] = None
    lacks: ClassVar[Collection[str]] = ()
    """The fields of ``takes`` that are no options of this command."""

    renames: ClassVar[Mapping[str, Flag]] = {}
    """Fields of ``takes`` that are other flags of this command, where the names of theirs mean something else."""

    examples: ClassVar[tuple[str, ...]] = ()
    """Words behind the command, which a test runs beside the samples."""

    exit_1_when: ClassVar[str] = ""
    """When the answer is "no", exit code 1; nothing if it never is."""

    prints: ClassVar[Output] = TABLES
    asked_by: ClassVar[str] = ""
    """The option that asks this question of another command."""

    needs_cluster: bool = True
    reads_rules_file: bool = False
    """Whether what the nearest rules file leaves out of directories is left out here, too, on the command line."""

    functions: ClassVar[Mapping[str, str]] = {}
    """The functions of the Python API by their names: the class of each, as ``module:name`` beside this one; the class
    itself under the name of the command where nothing is said.
    """

    @classmethod
    def has_gaps(cls) -> bool:
        """Whether an answer tells the gaps in what it is based on."""
        return False

    def choose(self) -> Command[Any]:
        """The question that is asked, where options choose one of several."""
        return self

    def for_output(self, output: str, *, has_reports: bool) -> Self:
        """The same question for an answer in this format."""
        return self

    def wants_cluster(self, *, is_named: bool) -> bool:
        """Whether a cluster is looked for, by variables and rules files, too; ``is_named``: an option names one."""
        return True

    def read_rules(self) -> ReadPolicy:
        """The rules file that names the cluster where options do not: the nearest. Raises InputError."""
        from kwhatif.simulation.repository_policy import find_policy, read_policy

        return read_policy(find_policy(os.curdir))


class Task(Command[R_co]):
    """A command that asks no scheduler: it reads, compares or writes files."""

    @property
    def program(self) -> str:
        """What the program is called where examples name it."""
        return "kubectl whatif" if os.path.basename(sys.argv[0]).startswith("kubectl-") else "kwhatif"

    @abstractmethod
    def answer(self, options: Any, notes: Notes) -> R_co:
        """Do it; ``options`` is what the class ``takes``. Raises KwhatifError."""
