"""``kwhatif`` and ``python -m kwhatif``.

With ``-m`` Python looks for modules in the working directory first, which may be a checkout of unknown origin: it is
taken off the path before anything else is imported, unless this very package was found there.
"""

import os
import sys

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
try:
    _CURRENT = os.path.realpath(os.curdir)
except OSError:  # It was deleted: nothing can lie in it.
    _CURRENT = ""
if _CURRENT and not sys.flags.safe_path and os.path.realpath(_HERE) != _CURRENT:
    sys.path[:1] = [path for path in sys.path[:1] if os.path.realpath(path or os.curdir) != _CURRENT]


def main() -> None:
    """Run the command line; Ctrl-C says so also while modules are imported, which is most of a short command."""
    try:
        from kwhatif.cli import main as command_line
    except KeyboardInterrupt:
        os.write(2, b"kwhatif: interrupted\n")
        sys.exit(130)
    command_line.main()


if __name__ == "__main__":
    main()
