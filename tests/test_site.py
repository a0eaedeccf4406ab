"""What the site of the documents is made of (make docs builds it), and the manifest for krew."""

from __future__ import annotations

import importlib
import re
import sys
import tarfile
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from kwhatif.commands.registry import entries_of
from kwhatif.plugins import in_tree_plugins

ROOT = Path(__file__).parents[1]
NAVIGATION = (ROOT / ".ci/site/mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The modules beside mkdocs.yml and above, which are no package."""
    monkeypatch.setattr(sys, "path", [str(ROOT / ".ci/site"), str(ROOT / ".ci"), *sys.path])
    names = ("repository", "pictures", "redirects", "reference", "krew")
    made = {name: importlib.import_module(name) for name in names}
    for name in names:
        monkeypatch.delitem(sys.modules, name)
    return made


def test_every_document_is_in_the_navigation() -> None:
    assert yaml.safe_load(f"nav:{NAVIGATION}")["nav"]
    listed = set(re.findall(r"[\w/-]+\.md", NAVIGATION))
    documents = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("**/*.md")}
    assert {
        path for path in documents if not path.startswith(("contributing/decisions/", "contributing/behaviour/"))
    } <= listed


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("README.md", "docs/how-to/place-pods.md", "how-to/place-pods.md"),
        ("docs/tutorials/will-it-fit.md", "../how-to/place-pods.md", "../how-to/place-pods.md"),
        ("docs/how-to/change-the-cluster.md", "../../samples/edits.yaml", "../samples/edits.yaml"),
        ("docs/explanation/security.md", "../../.github/SECURITY.md", "../SECURITY.md"),
        ("docs/how-to/place-pods.md", "../../README.md#try-it", "../overview.md#try-it"),
        ("docs/contributing/architecture.md", "decisions/", "decisions/0001-columns-over-loops.md"),
        ("docs/how-to/gate-changes.md", "https://kubernetes.io/docs", "https://kubernetes.io/docs"),
    ],
)
def test_a_link_of_the_repository_leads_to_the_same_on_the_site(
    site: dict[str, ModuleType], page: str, link: str, there: str
) -> None:
    assert site["repository"].relinked(f"see [it]({link}).", page) == f"see [it]({there})."


def test_bars_in_the_code_of_a_table_are_plain_on_the_site(site: dict[str, ModuleType]) -> None:
    page = "| `-o wide\\|json` | a \\| b |\n| --- | --- |\n\nno table: `a\\|b`"
    assert site["repository"].unescape_pipes(page) == page.replace("wide\\|json", "wide|json")


def test_links_of_the_site_lead_to_files(site: dict[str, ModuleType], tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "map.png").touch()
    (tmp_path / "index.html").write_text('<a href="deep/page.html#part">a</a> <img alt="" src="map.png">', "utf-8")
    links = ("../index.html", "..", "../none.html", "https://kubernetes.io", "#here", "mailto:nobody@example.com")
    (tmp_path / "deep" / "page.html").write_text("".join(f'<a href="{link}">a</a>' for link in links), "utf-8")
    assert site["repository"].find_broken_links(tmp_path) == ["deep/page.html: ..", "deep/page.html: ../none.html"]


def test_old_addresses_lead_to_pages_that_exist(site: dict[str, ModuleType]) -> None:
    assert all((ROOT / "docs" / f"{new}.md").is_file() for new in site["redirects"].MOVED.values())
    assert not [old for old in site["redirects"].MOVED if (ROOT / "docs" / f"{old}.md").exists()]
    assert 'url=../how-to/choose-a-scheduler-policy.html"' in site["redirects"].pages()["tutorials/which-policy.html"]


def test_a_command_goes_on_in_the_next_line(site: dict[str, ModuleType]) -> None:
    block = "```console\n$ kwhatif place a.yaml \\\n    --snapshot b\n1 of 1 pods placed\n```\n"
    assert site["pictures"].commands(block) == ["kwhatif place a.yaml --snapshot b"]


def test_the_reference_names_all_commands_and_plugins(site: dict[str, ModuleType]) -> None:
    pages = site["reference"].pages()
    assert all(f"## kwhatif {name}\n" in pages["reference/commands.md"] for name in entries_of(""))
    assert all(f"| {name} |" in pages["reference/plugins.md"] for name in in_tree_plugins())
    schemas = [path.name for path in (ROOT / "schemas").glob("*.json")]
    assert all(f"[{name}](../schemas/{name})" in pages["reference/documents.md"] for name in schemas)
    assert all(f"## {name}\n" in pages["reference/fields.md"] for name in schemas)
    assert "| `placements` | Placement[] | " in pages["reference/fields.md"]


@pytest.mark.long
def test_a_command_becomes_the_picture_of_its_answer(site: dict[str, ModuleType]) -> None:
    pictures = site["pictures"]
    block = "```console\n$ kwhatif --version\nkwhatif 0\n```\n"
    nobody_has = block.replace("--version", "place mine.yaml")
    assert pictures.commands(block) == ["kwhatif --version"]
    taken = pictures.taken([*pictures.commands(block), *pictures.commands(nobody_has)])
    assert list(taken) == ["kwhatif --version"]
    drawn = taken["kwhatif --version"].svg()
    assert drawn.startswith("<svg")
    assert "url(http" not in drawn
    shown = pictures.illustrated(block + nobody_has, taken, "../")
    assert re.search(r"!\[.*\]\(\.\./pictures/[0-9a-f]{16}\.svg\)", shown)
    assert nobody_has in shown


def test_krew_gets_an_archive_for_each_system(site: dict[str, ModuleType], tmp_path: Path) -> None:
    names = ["kubectl-whatif-linux-arm64.tar.gz", "kubectl-whatif-windows-amd64.zip"]
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    made = site["krew"].manifest("example/kwhatif", "v1.2.3", [tmp_path / name for name in names])
    assert yaml.safe_load(yaml.safe_dump(made)) == made
    linux, windows = made["spec"]["platforms"]
    assert linux == {
        "selector": {"matchLabels": {"os": "linux", "arch": "arm64"}},
        "uri": f"https://github.com/example/kwhatif/releases/download/v1.2.3/{names[0]}",
        "sha256": sha256(names[0].encode()).hexdigest(),
        "bin": "kubectl-whatif/kubectl-whatif",
    }
    assert windows["bin"].endswith(".exe")
    (tmp_path / "other.zip").touch()
    with pytest.raises(ValueError, match=r"other\.zip: expected kubectl-whatif-OS-ARCH"):
        site["krew"].manifest("example/kwhatif", "v1.2.3", [tmp_path / "other.zip"])


@pytest.mark.parametrize(
    ("tag", "entries", "problems"),
    [
        pytest.param("v1.2.3", {"": "d", "/kubectl-whatif": "f", "/LICENSE": "f"}, [], id="what krew takes"),
        pytest.param("1.2", {"/kubectl-whatif": "f", "/LICENSE": "f"}, ["1.2: expected a version"], id="no version"),
        pytest.param(
            "v1.2.3",
            {"/kubectl-whatif": "f", "/LICENSE": "f", "/libz.so": "l"},
            ["kubectl-whatif/libz.so is neither a file nor a directory"],
            id="a link",
        ),
        pytest.param(
            "v1.2.3",
            {"/../kubectl-whatif": "f", "/LICENSE": "f"},
            ["kubectl-whatif/../kubectl-whatif may lead elsewhere", "there is no kubectl-whatif/kubectl-whatif"],
            id="a name that leads out, and no program",
        ),
        pytest.param("v1.2.3", {"/kubectl-whatif": "f"}, ["there is no kubectl-whatif/LICENSE"], id="no licence"),
    ],
)
def test_what_krew_refuses_is_said(
    site: dict[str, ModuleType], tmp_path: Path, tag: str, entries: dict[str, str], problems: list[str]
) -> None:
    archive = tmp_path / "kubectl-whatif-linux-amd64.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for name, kind in entries.items():
            info = tarfile.TarInfo(f"kubectl-whatif{name}")
            info.type = {"d": tarfile.DIRTYPE, "f": tarfile.REGTYPE, "l": tarfile.SYMTYPE}[kind]
            packed.addfile(info)
    found = list(site["krew"].problems_of(site["krew"].manifest("example/kwhatif", tag, [archive]), [archive]))
    assert len(found) == len(problems), found
    assert all(problem in each for problem, each in zip(problems, found, strict=True))
