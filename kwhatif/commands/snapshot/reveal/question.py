"""The task of ``snapshot reveal``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Argument, InputFile
from kwhatif.simulation.inputs import Notes


@dataclass(frozen=True, kw_only=True)
class Reveal(Task[Printed]):
    """Put the names back into an answer about a redacted snapshot.

    Exit codes: 0 good, 2 usage or input error.
    """

    prints = DOCUMENT
    examples = ("answer.txt --translation names.json",)

    answered: Annotated[
        str,
        Argument(metavar="ANSWER", file="in", help="Any text: a table, JSON, YAML, Markdown, a mail; '-' for stdin."),
    ] = "-"
    translation: Annotated[
        str, InputFile("--translation", "Which pseudonym stands for what, as 'snapshot redact' left it.")
    ]

    def answer(self, options: Any, notes: Notes) -> Printed:
        from kwhatif.redaction import read_translation, reveal
        from kwhatif.render.escape import clean, in_answer_of_others
        from kwhatif.snapshot.read.files import read_paths

        names = read_translation(self.translation)
        texts = [text.data.decode() for text in read_paths([self.answered])]
        return Printed(text="".join(in_answer_of_others(reveal(text, names, shown=clean)) for text in texts))
