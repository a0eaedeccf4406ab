"""``python -m kwhatif``.

With ``-m`` Python looks for modules in the working directory first. Whoever stands in somebody else's checkout does not
mean that: what is imported from here on is not looked for there, unless this very package was found there.
"""

import os
import sys

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_CURRENT = os.path.realpath(os.curdir)
if not sys.flags.safe_path and os.path.realpath(_HERE) != _CURRENT:
    sys.path[:1] = [path for path in sys.path[:1] if os.path.realpath(path or os.curdir) != _CURRENT]

from kwhatif.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
