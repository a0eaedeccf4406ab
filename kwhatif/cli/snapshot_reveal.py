"""``kwhatif snapshot reveal``: an answer on a redacted snapshot, with the names put back."""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.options import option

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def reveal(
    translation: Annotated[
        str,
        option("--translation", metavar="FILE", help="Which pseudonym stands for what, as 'snapshot redact' left it."),
    ],
    answer: Annotated[
        str, typer.Argument(metavar="[ANSWER]", help="Any text: a table, JSON, YAML, Markdown, a mail; '-' for stdin.")
    ] = "-",
) -> None:
    """Put the names back into an answer about a redacted snapshot.

    Exit codes: 0 good, 2 usage or input error.
    """
    from kwhatif.cli.output import check_stdin, finish
    from kwhatif.redaction import read_translation
    from kwhatif.redaction import reveal as put_back
    from kwhatif.render.escape import clean, in_answer_of_others
    from kwhatif.snapshot.read.files import read_paths

    check_stdin(answer, translation)
    names = read_translation(translation)
    texts = [text.data.decode() for text in read_paths([answer])]
    finish("".join(in_answer_of_others(put_back(text, names, shown=clean)) for text in texts), 0)
