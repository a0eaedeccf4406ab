"""``kubectl_complete-whatif``: what kubectl asks for completions of ``kubectl whatif``, and in which form.

Upstream: SetupPluginCompletion in k8s.io/kubectl/pkg/cmd/plugin/plugin_completion.go.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys

_NO_DIRECTIVE = ":0"
"""What kubectl is to do besides: nothing special, so that file names are completed where nothing else is."""


def main() -> None:
    """Print what may stand for the last argument, a line each, and the directive."""
    from kwhatif.cli.main import app

    words = ["kwhatif", *(sys.argv[1:] or [""])]
    os.environ |= {
        "_KWHATIF_COMPLETE": "complete_bash",
        "COMP_WORDS": shlex.join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        app(prog_name="kwhatif")
    print(*(line for line in output.getvalue().splitlines() if line), _NO_DIRECTIVE, sep="\n")
