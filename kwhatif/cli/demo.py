"""``kwhatif demo``: the files that the examples of ``--help`` name, on an installation without a checkout."""

from __future__ import annotations

import os
import shlex
from typing import Annotated

import typer

from kwhatif.cli.options import argument
from kwhatif.cli.output import finish, program

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_TO_TRY = (
    "place {0}/manifests/web.yaml --snapshot {0}/cluster",
    "explain {0}/manifests/too-big.yaml --snapshot {0}/cluster",
    "drain general-a-1 --ignore-daemonsets --delete-emptydir-data --snapshot {0}/cluster",
)


@app.command()
def demo(
    directory: Annotated[
        str, argument(metavar="DIR", help="The directory to make; one that is there already is left alone.")
    ] = "samples",
) -> None:
    """Copy the sample clusters, manifests and policies that the examples of --help name, and say what to try.

    The examples run as they are printed beside a directory called samples.

    Exit codes: 0 good, 2 usage error.
    """
    from kwhatif.commands.demo.run import copy_samples

    count = copy_samples(directory)
    place = shlex.quote(directory.rstrip(f"/{os.sep}"))
    commands = "".join(f"  {program()} {words.format(place)}\n" for words in _TO_TRY)
    finish(f"{count} files copied to {place}. Try:\n\n{commands}", 0)
