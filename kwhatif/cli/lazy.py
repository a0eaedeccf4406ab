"""Groups of commands whose modules are imported only when a command of theirs is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from kwhatif.api.alike import did_you_mean
from kwhatif.cli.common import completed
from kwhatif.cli.plain_words import plain


class LazyGroup(TyperGroup):
    """A group that knows its commands by a table: command -> (module in this room, one line of help)."""

    commands_by_name: ClassVar[Mapping[str, tuple[str, str]]]
    path: ClassVar[str] = ""
    """What the group itself is called by, behind the program; nothing for that of all commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands_by_name)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands_by_name:
            return None
        module = import_module(f"kwhatif.cli.{self.commands_by_name[cmd_name][0]}")
        command = typer.main.get_command(module.app)
        command.name = cmd_name
        return command if isinstance(command, TyperGroup) else completed(command, f"{self.path} {cmd_name}".strip())

    def get_params(self, ctx: Any) -> Any:
        return plain(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands_by_name and not args[0].startswith("-"):
            ctx.fail(f"no such command: {args[0]}{did_you_mean(args[0], self.commands_by_name)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        if self.commands_by_name:
            with formatter.section("Commands"):
                formatter.write_dl([(name, text) for name, (_, text) in self.commands_by_name.items()])
