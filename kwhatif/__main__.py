"""``python -m kwhatif``.

With ``-m`` Python looks for modules in the working directory first. Whoever stands in somebody else's checkout does not
mean that: what is imported from here on is not looked for there, unless this very package was found there.
"""

import os
import sys

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if not sys.flags.safe_path and sys.path and os.path.realpath(sys.path[0] or os.curdir) == os.path.realpath(os.curdir):
    if os.path.realpath(os.curdir) != os.path.realpath(_HERE):
        del sys.path[0]

from kwhatif.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
