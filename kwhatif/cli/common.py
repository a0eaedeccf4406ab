"""What all commands have in common on the command line: groups that import a command when it is called, options that
every command has, the order in which help lists them, and examples.

A command is completed when it is asked for, so that none of them has to say any of this. Words that are what they mean
already, and options that are not given, go without what typer makes of all others: before it looks at a word, typer
0.29 has pydantic make an adapter for the parameter, and to import that and to make sixty adapters takes a tenth of a
short command's time. A text needs none, nor does a default.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, partial
from textwrap import wrap
from typing import Annotated, Any, ClassVar, get_type_hints

import typer
from typer.core import TyperGroup

from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.cli.output import ColorMode, all_gaps_are_shown, answer_is_always_good, finish, remember
from kwhatif.cli.progress_line import StepLog
from kwhatif.commands.registry import Entry, all_entries, entries_of
from kwhatif.progress import replace_listener


def plain(params: Any, texts: Collection[str] = ()) -> Any:
    """These parameters, which typer reads only where what is given is another thing than it means; those called
    ``texts`` mean the very words.
    """
    for param in params:
        if not isinstance(param.process_value, partial):
            param.process_value = partial(_process, param, param.name in texts, param.process_value)
    return params


def _process(param: Any, is_text: bool, process: Callable[..., Any], ctx: Any, value: Any) -> Any:
    several = param.multiple or param.nargs == -1
    is_meant = ctx.get_parameter_source(param.name).name == "DEFAULT" or (
        is_text and several is not isinstance(value, str)
    )
    if not is_meant or (param.required and not value):
        return process(ctx, value)
    if several:
        value = list(value or ())
    return value if param.callback is None else param.callback(ctx, param, value)


def _texts(function: Any) -> set[str]:
    """The parameters of a function that are texts, or lists of them."""
    texts = (str, str | None, list[str], list[str] | None)
    return {name for name, kind in get_type_hints(function).items() if kind in texts}


GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Files",
        (
            *(
                "manifests",
                "filename",
                "recursive",
                "charts",
                "clusters",
                "exclude",
                "namespace",
                "verb",
                "pod_template_paths",
                "admission_plugins",
            ),
            *("ignore_unknown", "api_resources", "variables", "render", "at"),
        ),
    ),
    (
        "Cluster",
        (
            *("snapshot", "now", "live", "max_age", "kubeconfig", "context", "as_user", "as_group"),
            *("insecure_skip_tls_verify", "request_timeout", "timeout", "server", "server_token", "assume_empty"),
        ),
    ),
    (
        "What if the cluster were different",
        (
            *("edits", "add_nodes", "like", "in_", "remove_node", "cordon", "uncordon", "taint", "label", "set"),
            *("scale", "delete", "quota", "stop_queue", "max_pods"),
        ),
    ),
    (
        "Scheduler",
        (
            *("policy", "kubernetes_version", "feature_gates", "plugins", "skip_unknown_plugins", "all_nodes", "seed"),
            *("call_extenders", "call_extender_bind", "load", "kueue_config", "strict"),
        ),
    ),
    ("Workers", ("workers", "on", "out", "resume")),
    ("Output", ("output", "everything", "gaps", "report", "color", "verbosity", "exit_zero", "brief_help", "help")),
)
"""Title -> parameters, in the order in which every command's help has them. A command's own options come before."""


def _remember_exit(is_set: bool) -> None:
    answer_is_always_good(is_set)


def _remember_gaps(is_set: bool) -> None:
    all_gaps_are_shown(is_set)


def _remember_verbosity(level: int) -> None:
    if level:
        replace_listener(StepLog())


def _print_brief_help(ctx: typer.Context, is_set: bool) -> None:
    if is_set:
        from kwhatif.cli.short_help import short_help

        finish(short_help(ctx.command, ctx, sections(ctx.command, ctx)), 0)


def _common_options(
    brief_help: Annotated[
        bool,
        typer.Option(
            "-h",
            is_eager=True,
            callback=_print_brief_help,
            expose_value=False,
            help="Show the command's own and the most used options and exit.",
        ),
    ] = False,
    color: Annotated[
        ColorMode,
        typer.Option("--color", callback=remember, expose_value=False, help="Colours in text; auto: on a terminal."),
    ] = ColorMode.auto,
    verbosity: Annotated[
        int,
        typer.Option(
            "-v",
            "--verbosity",
            metavar="N",
            min=0,
            callback=_remember_verbosity,
            expose_value=False,
            help="From 1 on, name each step on stderr, with the seconds since the start.",
        ),
    ] = 0,
    exit_zero: Annotated[
        bool,
        typer.Option(
            "--exit-zero", callback=_remember_exit, expose_value=False, help="Exit with 0 even if the answer is no."
        ),
    ] = False,
    gaps: Annotated[
        bool,
        typer.Option(
            "--gaps",
            callback=_remember_gaps,
            expose_value=False,
            help="Show every gap of the answer. Default: those that touch these pods.",
        ),
    ] = False,
) -> None:
    """The options that many commands have, whose functions need not know of them."""


def complete_command(command: Any, entry: Entry) -> Any:
    """The command of an entry with the options it shares with others, and with help in groups and with examples."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(_common_options)
    shared = {param.name: param for param in typer.main.get_command(app).params}
    texts = _texts(command.callback) | _texts(_common_options)
    own = {param.name for param in command.params}
    wanted = [
        "brief_help",
        "color",
        "verbosity",
        *(["exit_zero"] if entry.may_be_no else []),
        *(["gaps"] if entry.has_gaps else []),
    ]
    command.params += [shared[name] for name in wanted if name not in own]
    command.context_settings = {**command.context_settings, "help_option_names": ["--help"]}
    command.get_params = partial(_plain_params, command.get_params, texts)
    command.format_options = partial(_format_options, command)
    command.format_epilog = partial(_format_examples, entry)
    return command


def _help_names(ctx: Any) -> list[str]:
    """The names of ``--help`` in the order given; the library puts them into a set, whose order differs by process."""
    return list(ctx.help_option_names)


def _plain_params(params: Callable[..., Any], texts: Collection[str], ctx: Any) -> Any:
    return plain(params(ctx), texts)


def _format_options(command: Any, ctx: Any, formatter: Any) -> None:
    for title, rows in sections(command, ctx):
        with formatter.section(title):
            formatter.write_dl(rows)


def sections(command: Any, ctx: Any) -> list[tuple[str, list[tuple[str, str]]]]:
    """Arguments, the command's own options, and those of each group: title -> how each is written, and its help."""
    records = {param.name: (param, _record(param, ctx)) for param in command.get_params(ctx)}
    takes_files = not {"filename", "recursive"}.isdisjoint(records)
    groups = [group for group in GROUPS if takes_files or group[0] != "Files"]
    known = {name for _, names in groups for name in names}
    arguments = [record for param, record in records.values() if record and param.param_type_name == "argument"]
    own = [
        record
        for name, (param, record) in records.items()
        if record and param.param_type_name != "argument" and name not in known
    ]
    parts = [("Arguments", arguments), ("Options", own)]
    parts += [
        (
            title,
            [
                record
                for name in names
                if name in records and (record := records[name][1]) and records[name][0].param_type_name != "argument"
            ],
        )
        for title, names in groups
    ]
    return [(title, rows) for title, rows in parts if rows]


def _record(param: Any, ctx: Any) -> tuple[str, str] | None:
    """How a parameter is written, and its help. An argument is what its metavar says, without a type of Python."""
    record = param.get_help_record(ctx)
    if record is None or param.param_type_name != "argument":
        return record  # type: ignore[no-any-return]
    metavar = param.metavar or param.name.upper()
    many, optional = "..." * (param.nargs != 1), not param.required
    return (f"[{metavar}]{many}" if optional else f"{metavar}{many}"), record[1]


def _format_examples(spec: Entry, ctx: Any, formatter: Any) -> None:
    if spec.examples:
        with formatter.section("Examples"):
            room = formatter.width - 8
            for words in spec.examples:
                wrapped = wrap(f"kwhatif {spec.name} {words}", room, break_on_hyphens=False, break_long_words=False)
                formatter.write("  " + " \\\n      ".join(wrapped) + "\n")


class LazyGroup(TyperGroup):
    """A group whose commands are those of the table; their modules are imported when one is called."""

    path: ClassVar[str] = ""
    """What the group itself is called by, behind the program; nothing for that of all commands."""

    @property
    def commands_by_name(self) -> dict[str, Entry]:
        return entries_of(self.path)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands_by_name)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entry = self.commands_by_name.get(cmd_name)
        return None if entry is None else _make_command(entry, cmd_name)

    def get_params(self, ctx: Any) -> Any:
        return plain(super().get_params(ctx))

    def get_help_option_names(self, ctx: Any) -> list[str]:
        return _help_names(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        default = next((entry.default for entry in all_entries() if entry.name == self.path), "")
        if default and args and args[0] not in (*self.commands_by_name, "-h", "--help"):
            args = [default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands_by_name and not args[0].startswith("-"):
            ctx.fail(f"no such command: {args[0]}{suggest_spelling(args[0], self.commands_by_name)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        if self.commands_by_name:
            with formatter.section("Commands"):
                formatter.write_dl([(name, spec.purpose) for name, spec in self.commands_by_name.items()])


@cache
def _make_command(entry: Entry, name: str) -> Any:
    """The command of an entry, or the group of those below it."""
    if entry.is_group:
        return _make_group(entry)
    from kwhatif.cli.command_line import typer_command

    return complete_command(typer_command(entry.command, name), entry)


def _make_group(entry: Entry) -> Any:
    """The group of commands below an entry."""

    class Group(LazyGroup):
        path = entry.name

    def call() -> None:
        """Nothing by itself: a command has to be named."""

    app = typer.Typer(
        name=entry.name.split()[-1],
        cls=Group,
        help=entry.help,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
    )
    app.callback()(call)
    return typer.main.get_command(app)
