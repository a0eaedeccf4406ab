"""Options for what an explanation covers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Flag

if TYPE_CHECKING:
    from kwhatif.simulation.session import Session


@dataclass(frozen=True)
class ExplainOptions:
    """What is looked at: of the nodes ``node`` alone, or ``versus`` beside it (which defaults to the chosen one);
    with ``fixes`` also what would help.
    """

    node: Annotated[str, Flag("--node", metavar="NAME", completion="node", help="Explain this node only.")] = ""
    versus: Annotated[
        str,
        Flag(
            "--versus",
            metavar="NODE",
            completion="node",
            help="Compare this node with the chosen one, or with that of --node.",
        ),
    ] = ""
    fixes: Annotated[bool, Flag("--no-fixes", negated=True, help="Do not look for fixes.")] = True

    def check(self, session: Session) -> None:
        """Raise UsageError for a node that there is not."""
        for name in filter(None, (self.node, self.versus)):
            if session.cluster.columns.row(name) is None:
                hint = suggest_spelling(name, session.cluster.columns.names)
                raise UsageError(f"node {name} is not in the snapshot{hint}")


DEFAULT_OPTIONS = ExplainOptions()
