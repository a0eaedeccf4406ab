"""The task of ``serve``: a server that keeps a cluster loaded and answers questions about it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar

from kwhatif.bounds import SETTINGS_BYTES
from kwhatif.commands.common_options import CLUSTER, QuestionMemoryLimit, QuestionTimeLimit
from kwhatif.commands.registry import load
from kwhatif.commands.served_cluster import ServesCluster
from kwhatif.errors import UsageError
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT
from kwhatif.simulation.flag import Flag, InputFile
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.scenario_options import ClusterOptions
from kwhatif.snapshot.read.files import read_paths

_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\[\]:/\s]+)):(\d{1,5})")
_NEEDED = ("starlette", "uvicorn")


@dataclass(frozen=True, kw_only=True)
class Serve(ServesCluster):
    """Answer questions about a cluster over HTTP, until SIGTERM or Ctrl-C: POST /v1/place, /v1/drain and the like.

    The cluster is loaded once; with --live it follows every change. A request has the options of a command as JSON;
    /openapi.json describes all of them. Beyond loopback it needs TLS, and a token or clients' certificates. Needs
    kwhatif[serve].
    """

    takes = ClusterOptions
    lacks = frozenset({"now"})
    prints = DOCUMENT
    examples = (CLUSTER,)
    functions: ClassVar[Mapping[str, str]] = {"start_server": "question:Serve"}

    listen: Annotated[
        str, Flag("--listen", metavar="ADDRESS:PORT", shows_default=True, help="Where to listen; port 0: any.")
    ] = "127.0.0.1:8790"
    host: Annotated[
        Sequence[str],
        Flag(
            "--host", metavar="NAME", help="A name by which clients call the server, besides its address (repeatable)."
        ),
    ] = ()
    tls_cert: Annotated[str, InputFile("--tls-cert", help="The certificate; read again when it changes.")] = ""
    tls_key: Annotated[str, InputFile("--tls-key", help="Its key, likewise.")] = ""
    client_ca: Annotated[str, InputFile("--client-ca", help="Who signs the certificates that clients then need.")] = ""
    token_file: Annotated[
        str,
        InputFile("--token-file", help="Bearer tokens, one a line; read again when it changes."),
    ] = ""
    workers: Annotated[
        int | None,
        Flag(
            "--workers", metavar="N", least=1, help="How many questions to answer at a time. Default: one a processor."
        ),
    ] = None
    time_limit_seconds: QuestionTimeLimit = 60.0
    memory_limit: QuestionMemoryLimit = 1024

    admission: Annotated[
        str | None,
        Flag(
            "--admission",
            choices=("warn", "refuse"),
            help="Be a validating webhook at /admit, which takes no token: warn of what the gate finds, or refuse what "
            "a rule of level error finds.",
        ),
    ] = None
    admission_rules: Annotated[str, InputFile("--admission-rules", help="The rules for it: a GatePolicy.")] = ""

    watch: Annotated[
        str,
        InputFile("--watch", help="Questions to ask again and again, for /metrics to answer."),
    ] = ""

    def answer(self, options: Any, notes: Notes) -> Printed:
        if missing := [name for name in _NEEDED if find_spec(name) is None]:
            raise UsageError(f"{', '.join(missing)}: not installed; pip install 'kwhatif[serve]'")
        files, followed = self.cluster_of(options)
        server = "kwhatif.serve.server"
        limits = load("kwhatif.serve.workers:Limits")(
            workers=self.workers or os.cpu_count() or 1,
            seconds=self.time_limit_seconds,
            memory=self.memory_limit * 1024**2,
        )
        settings = load(f"{server}:Settings")
        load(f"{server}:serve")(settings(files, self._access(), limits, self._doors(), followed))
        return Printed()

    def _doors(self) -> dict[str, Any]:
        """What single doors need to know."""
        doors = {"watch": load("kwhatif.serve.watch:read_watched")(self.watch)} if self.watch else {}
        if not self.admission:
            if self.admission_rules:
                raise UsageError("--admission-rules is about --admission")
            return doors
        rules = ""
        if self.admission_rules:
            load("kwhatif.commands.gate.question:Gate")(config=self.admission_rules).check_rules()
            (text,) = read_paths([self.admission_rules], max_bytes=SETTINGS_BYTES)
            rules = text.data.decode()
        settings = load("kwhatif.serve.admission:AdmissionSettings")
        return doors | {"admission": settings(self.admission == "refuse", rules)}

    def _access(self) -> Any:
        match = _ADDRESS.fullmatch(self.listen)
        if match is None or int(match[3]) > 65535:
            raise UsageError(f"--listen {self.listen}: expected ADDRESS:PORT such as 127.0.0.1:8790 or [::1]:8790")
        if bool(self.tls_cert) != bool(self.tls_key):
            raise UsageError("--tls-cert and --tls-key go together")
        if self.client_ca and not self.tls_cert:
            raise UsageError("--client-ca needs --tls-cert and --tls-key")
        access = "kwhatif.serve.access"
        tls = load(f"{access}:TlsFiles")(self.tls_cert, self.tls_key, self.client_ca) if self.tls_cert else None
        tokens = load(f"{access}:Tokens")(self.token_file) if self.token_file else None
        return load(f"{access}:Access")(
            match[1] or match[2],
            int(match[3]),
            tls,
            tokens,
            tuple(self.host),
            frozenset({"/admit"} if self.admission else ()),
        )
