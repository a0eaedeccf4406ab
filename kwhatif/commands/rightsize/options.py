"""Where ``kwhatif rightsize`` and ``snapshot info`` learn what pods use, and what advice is written as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from kwhatif.simulation.flag import Flag, InputFile

PATCHES, AUTOSCALERS = "patches", "vpa"
FORMS = (PATCHES, AUTOSCALERS)
"""What advice is written as."""


@dataclass(frozen=True, kw_only=True)
class UsageOptions:
    """Files with usage, and a Prometheus. What the snapshot itself holds counts where nothing else is named."""

    usage: Annotated[
        Sequence[str],
        InputFile(
            "--usage",
            "What containers used: answers of Prometheus' API, kubectl top pods --containers, PodMetrics, "
            "VerticalPodAutoscalers; files, directories, '-' for stdin (repeatable). Default: what the snapshot holds.",
        ),
    ] = ()
    prometheus: Annotated[
        str, Flag("--prometheus", metavar="URL", help="Ask this Prometheus what containers used.")
    ] = ""
    prometheus_step: Annotated[
        int,
        Flag("--prometheus-step", metavar="SECONDS", least=1, shows_default=True, help="Seconds between samples."),
    ] = 60
    prometheus_timeout: Annotated[
        float,
        Flag(
            "--prometheus-timeout",
            metavar="SECONDS",
            least=0.1,
            shows_default=True,
            help="How long to wait for a whole answer.",
        ),
    ] = 60.0
    prometheus_retries: Annotated[
        int, Flag("--prometheus-retries", metavar="N", least=0, shows_default=True, help="How often to ask again.")
    ] = 2
    prometheus_token_file: Annotated[
        str, InputFile("--prometheus-token-file", "A file with the bearer token for Prometheus.")
    ] = ""
