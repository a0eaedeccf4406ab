"""Options of ``kwhatif rightsize`` only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from kwhatif.commands.common_options import PricesFile
from kwhatif.simulation.flag import Flag

PATCHES, AUTOSCALERS = "patches", "vpa"
FORMS = (PATCHES, AUTOSCALERS)
"""What advice is written as."""


@dataclass(frozen=True, kw_only=True)
class UsageOptions:
    """Files with usage, and a Prometheus. What the snapshot itself holds counts where nothing else is named."""

    usage: Annotated[
        Sequence[str],
        Flag(
            "--usage",
            metavar="FILE",
            help="What containers used: answers of Prometheus' API, kubectl top pods --containers, PodMetrics, "
            "VerticalPodAutoscalers; files, directories, '-' for stdin (repeatable). Default: what the snapshot holds.",
        ),
    ] = ()
    prometheus: Annotated[
        str, Flag("--prometheus", metavar="URL", help="Ask this Prometheus what containers used.")
    ] = ""
    prometheus_step: Annotated[
        int,
        Flag("--prometheus-step", metavar="SECONDS", least=1, shows_default=True, help="How far samples are apart."),
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
        str, Flag("--prometheus-token-file", metavar="FILE", help="A file with the bearer token for Prometheus.")
    ] = ""


@dataclass(frozen=True, kw_only=True)
class RightsizeOptions(UsageOptions):
    """How requests are derived from usage, and what is reported and written."""

    sizing: Annotated[
        str,
        Flag(
            "--sizing",
            metavar="FILE",
            help="A RightsizingPolicy: how requests follow from usage. Default: the 90th percentile of CPU, the peak "
            "of memory, 15% on top, from eight days, as VPA's recommender has it.",
        ),
    ] = ""
    prices: PricesFile = ""
    steps: Annotated[
        bool, Flag("--steps", help="Also say which few workloads bring most, and what each alone adds.")
    ] = False
    most_steps: Annotated[
        int,
        Flag(
            "--most-steps",
            metavar="N",
            least=1,
            most=100,
            shows_default=True,
            help="With --steps: no more than N of them.",
        ),
    ] = 8
    write: Annotated[
        str,
        Flag("--write", metavar="DIR", help="Write what is advised: one file a workload, and edits.yaml for --edits."),
    ] = ""
    write_as: Annotated[
        str,
        Flag(
            "--write-as",
            choices=FORMS,
            shows_default=True,
            help="What is written: strategic merge patches, or VerticalPodAutoscalers.",
        ),
    ] = PATCHES
