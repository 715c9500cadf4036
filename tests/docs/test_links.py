"""Links within the documentation lead somewhere, and every page is reachable."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "examples", "sdk")
PAGES = [
    *ROOT.glob("*.md"),
    *(page for name in FOLDERS for page in sorted((ROOT / name).rglob("*.md"))),
]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in _links(page):
        assert target.exists(), target
        assert not anchor or anchor in _anchors(target), f"{target}#{anchor}"


def test_every_page_is_linked_from_another() -> None:
    links = [(page, _shown(target)) for page in PAGES for target, _ in _links(page)]
    linked = {target for page, target in links if target != page}
    records = ROOT / "docs" / "decisions"
    lonely = {page for page in PAGES if page not in linked and page.parent != records}
    assert not lonely


def _shown(target: Path) -> Path:
    """What is read where a link leads to a folder."""
    return target / "README.md" if target.is_dir() else target


def _links(page: Path) -> Iterator[tuple[Path, str]]:
    for path, anchor in LINK.findall(page.read_text()):
        yield (page.parent / path).resolve() if path else page, anchor


def _anchors(page: Path) -> set[str]:
    """As the usual renderers name headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


def test_each_decision_has_a_number_of_its_own() -> None:
    files = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [file.name[:4] for file in files] == [
        f"{n + 1:04}" for n in range(len(files))
    ]
    for file in files:
        assert file.read_text().startswith(f"# {file.name[:4]}: ")
