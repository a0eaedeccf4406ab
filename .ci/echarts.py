"""Renew the charting library that pages of reports carry: python .ci/echarts.py [VERSION]

Takes the package echarts with what it needs as the npm registry has them, which npm holds against the integrity that
the registry gives, and has esbuild put together what pages draw: the same bytes each time, on any machine. They go into
kwhatif/render/html/app/vendor with the package's licences, and what they are made of into echarts.json. Everything that
pages draw is drawn by the package's own script, too, and has to come out the same. Needs npm.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
VENDOR = HERE.parent / "kwhatif" / "render" / "html" / "app" / "vendor"
LICENCES = {"LICENSE": "LICENSE", "NOTICE": "NOTICE", "licenses/LICENSE-d3": "LICENSE-d3"}
ESBUILD = "0.28.2"

CHARTS = ("BarChart", "LineChart", "LinesChart", "SankeyChart", "ScatterChart", "TreemapChart")
COMPONENTS = ("AriaComponent", "DataZoomSliderComponent", "GridComponent", "LegendComponent", "TooltipComponent")
FEATURES = ("LabelLayout", "LegacyGridContainLabel")


def build(folder: Path, renderer: str, *options: str) -> bytes:
    """A script with the charts above, drawn by a renderer."""
    parts = {"charts": CHARTS, "components": COMPONENTS, "features": FEATURES, "renderers": (renderer,)}
    lines = [f"import {{ {', '.join(names)} }} from 'echarts/{part}';" for part, names in parts.items()]
    used = ", ".join(name for names in parts.values() for name in names)
    lines += ["import * as core from 'echarts/core';", f"core.use([{used}]);"]
    (folder / "entry.js").write_text("\n".join([*lines, "export const { init, getInstanceByDom, version } = core;\n"]))
    words = ("node_modules/.bin/esbuild", "entry.js", "--bundle", "--minify", "--log-level=error", *options)
    return subprocess.run(words, cwd=folder, check=True, stdout=subprocess.PIPE).stdout


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else "latest"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "package.json").write_text("{}")
        words = ("npm", "install", "--silent", "--ignore-scripts", f"echarts@{wanted}", f"esbuild@{ESBUILD}")
        subprocess.run(words, cwd=folder, check=True)
        (folder / "own.cjs").write_bytes(build(folder, "SVGRenderer", "--format=cjs"))
        subprocess.run(("node", str(HERE / "echarts_comparison.cjs")), cwd=folder, check=True)
        made = {"echarts.min.js": build(folder, "CanvasRenderer", "--format=iife", "--global-name=echarts")}
        package = folder / "node_modules" / "echarts"
        made |= {name: (package / inside).read_bytes() for inside, name in LICENCES.items()}
        locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    packages = {each: locked[f"node_modules/{each}"] for each in ("echarts", "zrender", "tslib")}
    about = {
        "registry": "npm",
        "packages": {
            each: {key: of[key] for key in ("version", "license", "integrity")} for each, of in packages.items()
        },
        "built": {"esbuild": ESBUILD, "charts": CHARTS, "components": COMPONENTS, "features": FEATURES},
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in made.items()},
    }
    for name, content in made.items():
        (VENDOR / name).write_bytes(content)
    (VENDOR / "echarts.json").write_text(json.dumps(about, indent=2) + "\n")
    print(f"echarts {about['packages']['echarts']['version']}, {len(made['echarts.min.js']):,} bytes")


if __name__ == "__main__":
    main()
