"""The task of ``snapshot rbac``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.errors import UsageError
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Notes

_PART = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"


@dataclass(frozen=True, kw_only=True)
class Rbac(Task[Printed]):
    """Print the ClusterRole that 'kwhatif snapshot dump' and '--live' need, for 'kubectl apply -f -'.

    Exit codes: 0 good, 2 usage error.
    """

    prints = DOCUMENT
    examples = ("--name snapshots", "--watch --service-account tools/recorder")

    name: Annotated[str, Flag("--name", metavar="NAME", shows_default=True, help="What to call the role.")] = (
        "kwhatif-snapshot"
    )
    service_account: Annotated[
        str | None,
        Flag(
            "--service-account",
            metavar="NAMESPACE/NAME",
            help="Also print what gives the role to this service account.",
        ),
    ] = None
    scheduler_config: Annotated[
        str | None,
        Flag(
            "--scheduler-config",
            metavar="NAMESPACE/NAME",
            help="Also allow to read this one ConfigMap, for dump --scheduler-config.",
        ),
    ] = None
    watch: Annotated[
        bool, Flag("--watch", help="Also allow to watch these kinds, and Events: what 'snapshot record' needs.")
    ] = False
    usage: Annotated[bool, Flag("--usage", help="Also allow to list what pods use, for dump --usage.")] = False

    def answer(self, options: Any, notes: Notes) -> Printed:
        from kwhatif.render.formats import as_documents
        from kwhatif.snapshot.live.rbac import rights

        for flag, text in (("--service-account", self.service_account), ("--scheduler-config", self.scheduler_config)):
            if text is not None and not re.fullmatch(f"{_PART}/{_PART}", text):
                raise UsageError(f"{flag}: expected NAMESPACE/NAME, found {text!r}")
        if not re.fullmatch(_PART, self.name):
            raise UsageError(f"--name: expected a name such as kwhatif-snapshot, found {self.name!r}")
        made = rights(
            self.name,
            service_account=self.service_account,
            config_map=self.scheduler_config,
            watch=self.watch,
            usage=self.usage,
        )
        return Printed(text=as_documents(made))
