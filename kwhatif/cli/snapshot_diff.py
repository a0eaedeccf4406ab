"""``kwhatif snapshot diff``: what changed between two snapshots that scheduling can see?"""

from __future__ import annotations

from typing import Annotated

import typer

from kwhatif.cli.options import Everything, Tables, TablesOutput, argument
from kwhatif.cli.output import finish, render_result

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def diff(
    before: Annotated[str, argument(metavar="A", help="The snapshot before.")],
    after: Annotated[str, argument(metavar="B", help="The snapshot after.")],
    everything: Everything = False,
    output: TablesOutput = Tables.table,
) -> None:
    """Show what changed between two snapshots, as far as scheduling can see it.

    Exit codes: 0 the answer is good, 1 it is not: something changed, 2 usage or input error.
    """
    from kwhatif.cli.output import check_stdin
    from kwhatif.commands.snapshot.diff.diff import diff as ask
    from kwhatif.commands.snapshot.diff.text import diff_blocks
    from kwhatif.snapshot.load import load_snapshot

    check_stdin(before, after)
    old, new = load_snapshot([before]), load_snapshot([after])
    if old.source == new.source and before != after:
        # A snapshot that a question wrote keeps the source of the one it was asked about.
        old.source, new.source = before, after
    result = ask(old, new)
    text = render_result(result, output, lambda: diff_blocks(result), everything=everything)
    finish(text, result.exit_code)
