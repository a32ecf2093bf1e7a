"""The page on the language of spec/ leaves nothing out: whatever the XSDs allow and spec/ uses is on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lxml import etree

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "spec-language.md").read_text()
XSD = "{http://www.w3.org/2001/XMLSchema}"


def is_on_page(word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", PAGE) is not None


def test_is_on_page_takes_whole_words_only() -> None:
    assert is_on_page("lengthType")
    assert not is_on_page("lengthTyp")


@pytest.mark.parametrize("path", sorted((ROOT / "spec").glob("*.xsd")), ids=lambda path: path.stem)
def test_names_every_element_attribute_and_value_that_an_xsd_allows(path: Path) -> None:
    tree = etree.parse(path)
    words = {str(node.get("name")) for kind in ("element", "attribute") for node in tree.iter(XSD + kind) if node.get("name")}
    words |= {str(node.get("value")) for node in tree.iter(XSD + "enumeration")}
    assert len(words) > 10
    assert sorted(word for word in words if not is_on_page(word)) == []


def test_names_every_schema() -> None:
    schemas = sorted(path.name for path in (ROOT / "spec").iterdir())
    assert len(schemas) == 23
    assert [name for name in schemas if f"spec/{name}" not in PAGE] == []
