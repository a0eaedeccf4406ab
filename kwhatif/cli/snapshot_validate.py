"""``kwhatif snapshot validate``: can a snapshot be read, and does all in it go together?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.options import Everything, SnapshotFiles, Tables, TablesOutput
from kwhatif.cli.output import finish, render_result

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def validate(
    files: SnapshotFiles,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 for warnings, too.")] = False,
    everything: Everything = False,
    output: TablesOutput = Tables.table,
) -> None:
    """Report everything that is wrong with a snapshot: what cannot be read, and what does not go together.

    Exit codes: 0 the answer is good, 1 it is not: there are errors (or warnings, with --strict), 2 usage error, or
    the files cannot be opened.
    """
    from kwhatif.cli.output import check_stdin
    from kwhatif.commands.snapshot.validate.text import check_blocks
    from kwhatif.commands.snapshot.validate.validate import validate as ask
    from kwhatif.versions import features_of

    check_stdin(*files)
    result = ask(files, features_of(), strict=strict)
    text = render_result(result, output, lambda: check_blocks(result), everything=everything)
    finish(text, result.exit_code)
