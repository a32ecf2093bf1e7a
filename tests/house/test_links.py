"""Every link of the documentation within the repository leads somewhere: to a file, and to a heading or a place in it."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"(?<!\\)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def without_code(text: str) -> str:
    return re.sub(r"(`+).+?\1", "", re.sub(r"^    .*$", "", FENCE.sub("", text), flags=re.MULTILINE))


def slug(title: str) -> str:
    """What GitHub makes of a heading."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


@functools.cache
def places(path: Path) -> frozenset[str]:
    text = FENCE.sub("", path.read_text())
    headings = re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)
    return frozenset(re.findall(r'<a id="([^"]+)"></a>', text)) | {slug(title) for title in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target in LINK.findall(without_code(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, place = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (place and place not in places(path)):
            wrong.append(target)
    assert wrong == []


def test_most_links_are_seen() -> None:
    links = sum(len(LINK.findall(without_code(page.read_text()))) for page in PAGES)
    assert links > 500
