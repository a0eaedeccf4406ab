"""Commands of the documents, run for real, and what a terminal of 110 columns shows of them as a picture.

``python .ci/site/pictures.py`` draws the picture of each tutorial anew: that of its first command.
"""

from __future__ import annotations

import html
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256

from repository import ROOT
from rich.console import Console
from rich.text import Text

COLUMNS = 110
MOST_LINES = 48
"""Longer answers are cut in the picture; the text below it has all of them."""

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CONTINUATION = re.compile(r"\s*\\\n\s*")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)


@dataclass(frozen=True)
class Picture:
    """``text`` is the answer as it was printed, with its colours."""

    command: str
    text: str

    @property
    def name(self) -> str:
        return f"pictures/{sha256(self.command.encode()).hexdigest()[:16]}.svg"

    def svg(self) -> str:
        """Drawn by rich, without the fonts that it would have fetched."""
        lines = self.text.rstrip("\n").split("\n")
        shown = lines[:MOST_LINES] + (["..."] if len(lines) > MOST_LINES else [])
        console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, legacy_windows=False)
        console.print(Text.from_ansi("\n".join(shown)), soft_wrap=True)
        drawn = console.export_svg(title="kwhatif", unique_id=f"t{self.name.removeprefix('pictures/')[:8]}")
        return _FONTS.sub("", drawn)

    def markdown(self, up: str) -> str:
        """``up`` leads from the page to the top of the site."""
        plain = html.escape(_ESCAPE.sub("", self.text).rstrip("\n"))
        return (
            f"```console\n$ {self.command}\n```\n\n"
            f"![What a terminal shows of this command; its text is below]({up}{self.name}){{ loading=lazy }}\n\n"
            f'<details><summary>as text</summary><pre class="terminal">{plain}</pre></details>\n'
        )


def commands(text: str) -> list[str]:
    """Each ``$`` line of the page's console blocks, with the lines that it goes on in."""
    blocks = (_CONTINUATION.sub(" ", block) for block in _BLOCK.findall(text))
    return [line[2:] for block in blocks for line in block.split("\n") if line.startswith("$ ")]


def taken(wanted: Sequence[str]) -> dict[str, Picture]:
    """Command -> its picture, for those that answer; the others name files that only the reader has."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(_answer, dict.fromkeys(wanted))
    return {picture.command: picture for picture in answers if picture is not None}


def illustrated(text: str, pictures: dict[str, Picture], up: str) -> str:
    """The page with pictures in the place of what the repository shows of their commands."""

    def drawn(match: re.Match[str]) -> str:
        wanted = commands(match[0])
        if not all(command in pictures for command in wanted):
            return match[0]
        return "\n".join(pictures[command].markdown(up) for command in wanted)

    return _BLOCK.sub(drawn, text)


def _answer(command: str) -> Picture | None:
    _, *arguments = shlex.split(command)
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _ON_A_TERMINAL, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Picture(command, done.stdout) if done.returncode in (0, 1) and done.stdout else None


def draw_tutorials() -> None:
    """Write ``docs/tutorials/pictures``."""
    for page in sorted((ROOT / "docs/tutorials").glob("*.md")):
        first = commands(page.read_text("utf-8"))[0]
        (page.parent / "pictures" / f"{page.stem}.svg").write_text(taken([first])[first].svg(), "utf-8")


# A terminal is what says so: the answer is then as wide as COLUMNS.
_ON_A_TERMINAL = """
import sys
sys.stdout.isatty = lambda: True
sys.argv[0] = "kwhatif"
from kwhatif.cli.main import main
main()
"""

if __name__ == "__main__":
    draw_tutorials()
