"""XInclude: replace each `include` of a schema by the file that it names.

Elements of an included file keep their places, so that what is wrong with them is told with that file's name and line.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from lxml import etree

from aerowire.codegen.document import UNREADABLE, Document, read_bytes, read_document
from aerowire.codegen.problems import SchemaError
from aerowire.codegen.sbe.reader.elements import split
from aerowire.codegen.sbe.reader.numerals import shorten
from aerowire.codegen.sbe.reader.report import Report

NAMESPACES = ("http://www.w3.org/2001/XInclude", "http://www.w3.org/2003/XInclude")
DEPTH_MAX = 16
FILES_MAX = 1_000  # keeps files that include others twice each from filling the memory


def expand(path: Path, report: Report) -> etree._Element:
    """Replace every include below the root of the report's first document; return the root.  Problems go into the report."""
    document = report.documents[0]
    _Expansion(report).expand(document, path, (path.resolve(),))
    return document.root


class Hindrance(NamedTuple):
    """Why a file is not included; `is_unreadable` when it is there or should be, and cannot be read."""

    message: str
    is_unreadable: bool = False


class _Expansion:
    def __init__(self, report: Report) -> None:
        self._report = report

    def expand(self, document: Document, path: Path, chain: tuple[Path, ...]) -> None:
        for element in list(document.root.iter(*(f"{{{namespace}}}include" for namespace in NAMESPACES))):
            if not _is_in_fallback(element):
                self._include(element, path, chain)

    def _include(self, element: etree._Element, path: Path, chain: tuple[Path, ...]) -> None:
        problem = self._insert(element, path, chain)
        if problem is None:
            return
        message, is_unreadable = problem
        fallback = next((child for child in element.iterchildren(etree.Element) if split(child)[1] == "fallback"), None)
        if fallback is None:
            self._report.fault("bad-include" if not is_unreadable else UNREADABLE, element, message, "href")
            return
        _replace(element, list(fallback.iterchildren(etree.Element)))

    def _insert(self, element: etree._Element, path: Path, chain: tuple[Path, ...]) -> Hindrance | None:
        """Put the file in the element's place; return what hindered it."""
        href, kind = element.get("href") or "", element.get("parse", "xml")
        problem = _problem(element, href, kind)
        if problem is not None:
            return Hindrance(problem)
        target = path.parent / unquote(urlsplit(href).path)
        return self._insert_text(element, target) if kind == "text" else self._insert_tree(element, target, chain)

    def _insert_text(self, element: etree._Element, target: Path) -> Hindrance | None:
        try:
            text = read_bytes(target, str(target)).decode(element.get("encoding") or "utf-8")
            _replace(element, [], text.removeprefix("\ufeff"))
        except SchemaError as error:
            return Hindrance(f"include of {shorten(str(target))!r}: {error.problems[0].message}", is_unreadable=True)
        except (LookupError, ValueError) as error:
            return Hindrance(f"include of {shorten(str(target))!r}: {error}", is_unreadable=True)
        return None

    def _insert_tree(self, element: etree._Element, target: Path, chain: tuple[Path, ...]) -> Hindrance | None:
        try:
            resolved = target.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            return Hindrance(f"include of {shorten(str(target))!r}: cannot be read: {error}", is_unreadable=True)
        if resolved in chain:
            route = " -> ".join(one.name for one in (*chain[chain.index(resolved) :], resolved))
            return Hindrance(f"circular include: {route}")
        if len(chain) > DEPTH_MAX or len(self._report.documents) >= FILES_MAX:
            return Hindrance(f"include of {shorten(str(target))!r}: more than {DEPTH_MAX} files deep or {FILES_MAX} files in all")
        try:
            document = read_document(target)
        except SchemaError as error:
            first = error.problems[0]
            if target.is_file():
                self._report.problems.extend(error.problems)
                return Hindrance(f"include of {shorten(str(target))!r}, which cannot be used")
            return Hindrance(f"include of {shorten(str(target))!r}: {first.message}", is_unreadable=True)
        self._report.documents.append(document)
        self.expand(document, target, (*chain, resolved))
        _replace(element, [document.root])
        return None


def _problem(element: etree._Element, href: str, kind: str) -> str | None:
    """What is wrong with an include before its file is looked for."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return f"include of {shorten(href)!r}, which is no name of a file"
    problems = (
        (not href, "include lacks attribute 'href'"),
        (element.get("xpointer") is not None, "include has an xpointer, which is not supported; include a whole file"),
        (
            bool(parts.netloc) or parts.scheme not in ("", "file"),
            f"include of {shorten(href)!r}: only local files are included",
        ),
        (bool(parts.fragment), f"include of {shorten(href)!r}: a part of a file cannot be included"),
        (kind not in ("xml", "text"), f"include with parse {shorten(kind)!r}; expected xml or text"),
    )
    return next((message for is_wrong, message in problems if is_wrong), None)


def _is_in_fallback(element: etree._Element) -> bool:
    parent = element.getparent()
    return parent is not None and split(parent)[0] in NAMESPACES


def _replace(element: etree._Element, new: list[etree._Element], text: str = "") -> None:
    """Put elements or a text in an element's place."""
    parent = element.getparent()
    if parent is None:
        return
    index = parent.index(element)
    tail = text + (element.tail or "")
    element.tail = None
    for offset, one in enumerate(new):
        one.tail = None
        parent.insert(index + offset, one)
    parent.remove(element)
    if not tail:
        return
    before = parent[index + len(new) - 1] if index + len(new) else None
    if before is None:
        parent.text = (parent.text or "") + tail
    else:
        before.tail = (before.tail or "") + tail
