"""Renew the charting library that pages of reports carry: python .ci/echarts.py [VERSION]

Takes the package echarts as the npm registry has it, holds it against the integrity the registry gives, and puts its
minified script with its licences into kwhatif/render/html/app/vendor, unchanged, with what it is in echarts.json. Needs
npm.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "kwhatif" / "render" / "html" / "app" / "vendor"
FILES = {
    "package/dist/echarts.min.js": "echarts.min.js",
    "package/LICENSE": "LICENSE",
    "package/NOTICE": "NOTICE",
    "package/licenses/LICENSE-d3": "LICENSE-d3",
}


def npm(*words: str) -> bytes:
    return subprocess.run(["npm", *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else "latest"
    known = json.loads(npm("view", f"echarts@{wanted}", "--json", "version", "license", "dist.integrity"))
    with tempfile.TemporaryDirectory() as directory:
        npm("pack", f"echarts@{known['version']}", "--pack-destination", directory)
        (packed,) = Path(directory).iterdir()
        tarball = packed.read_bytes()
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(tarball).digest()).decode()}"
    if integrity != known["dist.integrity"]:
        sys.exit(f"echarts {known['version']}: the registry says {known['dist.integrity']}, what came is {integrity}")
    sums = {}
    with tarfile.open(fileobj=io.BytesIO(tarball)) as package:
        for inside, name in FILES.items():
            member = package.extractfile(inside)
            assert member is not None, inside
            content = member.read()
            (VENDOR / name).write_bytes(content)
            sums[name] = hashlib.sha256(content).hexdigest()
    about = {
        "package": "echarts",
        "registry": "npm",
        "version": known["version"],
        "license": known["license"],
        "integrity": integrity,
        "sha256": sums,
    }
    (VENDOR / "echarts.json").write_text(json.dumps(about, indent=2) + "\n")
    print(f"echarts {known['version']}")


if __name__ == "__main__":
    main()
