"""Every error kwhatif raises on purpose, as one tree. Each class fixes the exit code it leads to.

    KwhatifError                 exit code 2
    ├── UsageError               a command line or call that makes no sense
    ├── InputError               a file: which one, where in it, what was found, what was expected
    │   └── LimitError           more than there is room or time for, so the run ends
    ├── ClusterError             a live cluster that cannot be reached, refuses, or answers nonsense
    ├── PolicyError              a scheduler configuration that kube-scheduler would refuse
    ├── PluginError              a plugin broke its contract or failed: plugin, hook and pod are named
    ├── FidelityError            --strict: the answer would depend on something that is not modelled
    └── UnreadError              the reader of stdout has gone (exit code 141, without a message)

"The pod does not fit" is not an error: it is a result with exit code 1.
"""

from __future__ import annotations


class KwhatifError(Exception):
    """Base of all errors that end a command with one clear line."""

    exit_code = 2


class UsageError(KwhatifError):
    """A command line or call that makes no sense."""


class InputError(KwhatifError):
    """A file could not be understood.

    ``source`` names the file (with its document, such as ``pods.yaml document 2``), ``place`` is a path such as
    ``$.spec.containers[0].resources.requests.cpu`` or empty, ``problem`` says what was found and expected.
    """

    def __init__(self, problem: str, *, source: str = "", place: str = "") -> None:
        self.problem, self.source, self.place = problem, source, place
        super().__init__(": ".join(part for part in (source, place, problem) if part))

    def with_source(self, source: str) -> InputError:
        """The same error, said of ``source`` (kept if the error already names its file)."""
        return self if self.source else InputError(self.problem, source=source, place=self.place)


class LimitError(InputError):
    """Beyond a limit of the server (``bounds``): it ends a run that passes over what it cannot read."""

    def with_source(self, source: str) -> InputError:
        """The same error, said of ``source``."""
        return self if self.source else LimitError(self.problem, source=source, place=self.place)


class ClusterError(KwhatifError):
    """A live cluster cannot be reached, refuses, or answers nonsense."""


class PolicyError(KwhatifError):
    """A scheduler configuration that kube-scheduler would refuse."""


class PluginError(KwhatifError):
    """A plugin broke its contract or failed."""

    def __init__(self, plugin: str, hook: str, problem: str, *, pod: str = "") -> None:
        self.plugin, self.hook, self.problem, self.pod = plugin, hook, problem, pod
        of_pod = f" for pod {pod}" if pod else ""
        super().__init__(f"plugin {plugin}: {hook}{of_pod}: {problem}")


class FidelityError(KwhatifError):
    """``--strict``, and the answer would depend on something that is not modelled."""


class UnreadError(KwhatifError):
    """The reader closed stdout before the end, as ``head`` does."""

    exit_code = 128 + 13
    """128 + SIGPIPE, as shells report it."""
