"""The repository as pages of a site: where a file of it is found there, and links that lead to it.

Documents link to each other and to samples, schemas and programs as files of the repository. On the site the documents
stand at the top, and all else that is linked to is copied as it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

PAGES = {"README.md": "overview.md", ".github/SECURITY.md": "SECURITY.md"}
"""What is called otherwise on the site."""

_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def outside() -> list[str]:
    """The documents beside ``docs``, as paths in the repository."""
    return [*sorted(path.name for path in ROOT.glob("*.md")), ".github/SECURITY.md", "benchmarks/README.md"]


def site_path(path: str) -> str:
    """Where a file of the repository stands on the site."""
    return PAGES.get(path, path.removeprefix("docs/"))


def linked(text: str, page: str) -> dict[str, str]:
    """Link as it is written -> file of the repository that it means; ``page`` is the repository's own path."""
    found = {}
    for link, _ in _LINK.findall(text):
        target = os.path.normpath(PurePosixPath(page).parent / link)
        found[link] = PurePosixPath(target).as_posix()
    return found


def relinked(text: str, page: str) -> str:
    """The page with links as they are on the site. A link to a directory leads to the first page in it."""
    targets = linked(text, page)
    here = PurePosixPath(site_path(page)).parent

    def moved(match: re.Match[str]) -> str:
        target = targets[match[1]]
        if (ROOT / target).is_dir():
            target = min(path.relative_to(ROOT).as_posix() for path in (ROOT / target).glob("*.md"))
        there = PurePosixPath(os.path.relpath(site_path(target), here)).as_posix()
        return f"]({there}{match[2] or ''})"

    return _LINK.sub(moved, text)


_CODE = re.compile(r"(`+)(.+?)\1")


def unescape_pipes(text: str) -> str:
    """The page with plain bars in the code of its tables: GitHub wants them escaped there, the site would show that."""

    def plain(match: re.Match[str]) -> str:
        return match[0].replace("\\|", "|")

    return "\n".join(_CODE.sub(plain, line) if line.startswith("|") else line for line in text.split("\n"))


_REFERENCE = re.compile(r'<(?:a|img|link|script|source)\b[^>]*?\b(?:href|src)="([^"]*)"')


def find_broken_links(site: Path) -> list[str]:
    """Links between pages of a site that lead to no file, as ``page: link``; a directory is none, as it opens from disk
    as a list of files.
    """
    broken = []
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html" or "reports" in page.relative_to(site).parts:
            continue
        for link in dict.fromkeys(_REFERENCE.findall(page.read_text("utf-8"))):
            path = unquote(link.partition("#")[0].partition("?")[0])
            if path and not urlsplit(link).scheme and not (page.parent / path).is_file():
                broken.append(f"{page.relative_to(site).as_posix()}: {link}")
    return broken
