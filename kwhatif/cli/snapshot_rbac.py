"""``kwhatif snapshot rbac``: what has to be allowed so that a cluster can be dumped."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from kwhatif.cli.options import option
from kwhatif.cli.output import finish
from kwhatif.errors import UsageError

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_PART = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"


@app.command()
def rbac(
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What to call the role.")] = "kwhatif-snapshot",
    service_account: Annotated[
        str | None,
        option(
            "--service-account",
            metavar="NAMESPACE/NAME",
            help="Also print what gives the role to this service account.",
        ),
    ] = None,
    scheduler_config: Annotated[
        str | None,
        option(
            "--scheduler-config",
            metavar="NAMESPACE/NAME",
            help="Also allow to read this one ConfigMap, for dump --scheduler-config.",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Also allow to watch these kinds, and Events: what 'snapshot record' needs.")
    ] = False,
    usage: Annotated[bool, typer.Option("--usage", help="Also allow to list what pods use, for dump --usage.")] = False,
) -> None:
    """Print the ClusterRole that 'kwhatif snapshot dump' and '--live' need, for 'kubectl apply -f -'.

    Exit codes: 0 good, 2 usage error.
    """
    from kwhatif.render.formats import as_documents
    from kwhatif.snapshot.live.rbac import rights

    for flag, text in (("--service-account", service_account), ("--scheduler-config", scheduler_config)):
        if text is not None and not re.fullmatch(f"{_PART}/{_PART}", text):
            raise UsageError(f"{flag}: expected NAMESPACE/NAME, found {text!r}")
    if not re.fullmatch(_PART, name):
        raise UsageError(f"--name: expected a name such as kwhatif-snapshot, found {name!r}")
    made = rights(name, service_account=service_account, config_map=scheduler_config, watch=watch, usage=usage)
    finish(as_documents(made), 0)
