"""``python -m kwhatif``.

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

from kwhatif.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
