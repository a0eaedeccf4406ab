"""``kwhatif autoscale``: which nodes would cluster-autoscaler or Karpenter add or remove?"""

from __future__ import annotations

from typing import Any

import typer

from kwhatif.cli.common import LazyGroup


class _Autoscale(LazyGroup):
    path = "autoscale"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands_by_name, "-h", "--help"):
            args = ["plan", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="autoscale",
    cls=_Autoscale,
    help="Say what cluster-autoscaler or Karpenter would do: 'autoscale FILE...' is 'autoscale plan FILE...'.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def root() -> None:
    """Say what cluster-autoscaler or Karpenter would do: 'autoscale FILE...' is 'autoscale plan FILE...'."""
