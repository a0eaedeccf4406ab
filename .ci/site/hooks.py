"""What mkdocs is told: which pages there are beside ``docs``, and what becomes of each."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

import redirects
from pictures import Picture, commands, illustrated, taken
from reference import pages
from repository import DOCS, ROOT, find_broken_links, linked, outside, relinked, site_path, unescape_pipes

REPORTS = {
    "reports/gate.html": (
        "a gate",
        "gate samples/gate/head --base samples/gate/base --snapshot samples/gate/snapshot.json",
    ),
    "reports/place.html": (
        "placements",
        "place samples/manifests/web.yaml samples/manifests/urgent.yaml samples/manifests/too-big.yaml "
        "--snapshot samples/cluster",
    ),
    "reports/diff.html": (
        "two policies",
        "diff --snapshot samples/cluster --policy default --policy samples/policies/most-allocated.yaml --replay all",
    ),
}
"""Path on the site -> what it is of, and the command that makes it."""

STYLE = Path(__file__).parent / "site.css"

_pictures: dict[str, Picture] = {}
_generated: set[str] = set()


def on_config(config: Any) -> Any:
    """Behaviour and decisions are listed as they are found."""
    for room in ("Behaviour", "Decisions"):
        folder = f"contributing/{room.lower()}"
        found = [{_title(path): f"{folder}/{path.name}"} for path in sorted((DOCS / folder).glob("*.md"))]
        config.nav[-1]["Contributing"].append({room: found})
    return config


def on_files(files: Files, config: Any) -> Files:
    texts = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    for path in outside():
        texts[path] = (ROOT / path).read_text("utf-8")
        files.append(File.generated(config, site_path(path), content=texts[path]))
    for path, text in pages().items():
        _generated.add(path)
        texts[path] = text
        files.append(File.generated(config, path, content=text))
    for target in sorted({target for page, text in texts.items() for target in linked(text, page).values()}):
        if (
            not target.endswith(".md")
            and (ROOT / target).is_file()
            and files.get_file_from_path(site_path(target)) is None
        ):
            files.append(File.generated(config, site_path(target), abs_src_path=str(ROOT / target)))
    _pictures.update(taken([command for text in texts.values() for command in commands(text)]))
    for picture in _pictures.values():
        files.append(File.generated(config, picture.name, content=picture.svg()))
    files.append(File.generated(config, STYLE.name, content=STYLE.read_text("utf-8")))
    for path, (_, command) in REPORTS.items():
        files.append(File.generated(config, path, content=_report(command)))
    for path, text in redirects.pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_post_build(config: Any) -> None:
    """Raises RuntimeError for links that lead nowhere when the site is opened from disk."""
    if broken := find_broken_links(Path(config.site_dir)):
        raise RuntimeError("\n".join(["links that lead to no file:", *broken]))


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    markdown = unescape_pipes(markdown)
    uri = page.file.src_uri
    if uri in _generated:
        return markdown
    source = next((path for path in outside() if site_path(path) == uri), f"docs/{uri}")
    up = "../" * uri.count("/")
    markdown = relinked(markdown, source)
    if uri == "how-to/make-html-reports.md":
        made = ", ".join(f"[{what}]({up}{path})" for path, (what, _) in REPORTS.items())
        markdown += f"\nPages to click through, made from the samples: {made}.\n"
    return illustrated(markdown, _pictures, up)


def _title(path: Path) -> str:
    return path.read_text("utf-8").split("\n", 1)[0].removeprefix("# ")


def _report(command: str) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "report.html"
        done = subprocess.run(
            [sys.executable, "-m", "kwhatif", *command.split(), "--report", f"html={target}"],
            cwd=ROOT,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(f"kwhatif {command}: {done.stderr}")
        return target.read_bytes()
