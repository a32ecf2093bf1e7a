"""XInclude: replace each `include` of a schema by the file that it names.

Elements of an included file keep their places, so that what is wrong with them is told with that file's name and line.
A schema may come from a stranger: only XML files in the schema's own folder, below it, or in folders that the user named are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from lxml import etree

from aerowire.codegen.document import UNREADABLE, Document, read_document
from aerowire.codegen.problems import SchemaError
from aerowire.codegen.sbe.reader.elements import split
from aerowire.codegen.sbe.reader.numerals import shorten
from aerowire.codegen.sbe.reader.report import Report

NAMESPACES = ("http://www.w3.org/2001/XInclude", "http://www.w3.org/2003/XInclude")
DEPTH_MAX = 16
FILES_MAX = 1_000  # keeps files that include others twice each from filling the memory
LENGTH_MAX = 64 << 20  # of all files of a schema together


def expand(path: Path, report: Report, roots: Sequence[Path] = ()) -> etree._Element:
    """Replace every include below the root of the report's first document; return the root.  Problems go into the report.

    `roots` are folders besides the schema's own from which files may be included.
    """
    document = report.documents[0]
    resolved = path.resolve()
    # A schema that is a symbolic link may include what lies beside the link and beside its target.
    allowed = dict.fromkeys([path.parent.resolve(), resolved.parent, *(root.resolve() for root in roots)])
    _Expansion(report, tuple(allowed)).expand(document, path, (resolved,))
    return document.root


def has_includes(root: etree._Element) -> bool:
    """Return whether elements below a root ask for other files, in whatever encoding the document is written."""
    return next(_includes(root), None) is not None


def _includes(root: etree._Element) -> Iterator[etree._Element]:
    return root.iter(*(f"{{{namespace}}}include" for namespace in NAMESPACES))


class Hindrance(NamedTuple):
    """Why a file is not included.

    `is_unreadable` when it is there or should be, and cannot be read; `is_refused` when no `fallback` may take its place.
    """

    message: str
    is_unreadable: bool = False
    is_refused: bool = False


class _Expansion:
    def __init__(self, report: Report, roots: tuple[Path, ...]) -> None:
        self._report = report
        self._roots = roots
        self._length = sum(len(one.data) for one in report.documents)

    def expand(self, document: Document, path: Path, chain: tuple[Path, ...]) -> None:
        for element in list(_includes(document.root)):
            if not _is_in_fallback(element):
                self._include(element, path, chain)

    def _include(self, element: etree._Element, path: Path, chain: tuple[Path, ...]) -> None:
        problem = self._insert(element, path, chain)
        if problem is None:
            return
        message, is_unreadable, is_refused = problem
        fallback = next((child for child in element.iterchildren(etree.Element) if split(child)[1] == "fallback"), None)
        if fallback is None or is_refused:
            self._report.fault("bad-include" if not is_unreadable else UNREADABLE, element, message, "href")
            return
        _replace(element, list(fallback.iterchildren(etree.Element)))

    def _insert(self, element: etree._Element, path: Path, chain: tuple[Path, ...]) -> Hindrance | None:
        """Put the file in the element's place; return what hindered it."""
        href, kind = element.get("href") or "", element.get("parse", "xml")
        problem = _problem(element, href, kind)
        if problem is not None:
            return Hindrance(problem, is_refused=True)
        target = path.parent / unquote(urlsplit(href).path)
        try:
            resolved = target.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            return Hindrance(f"include of {shorten(str(target))!r}: cannot be read: {error}", is_unreadable=True)
        if not any(resolved.is_relative_to(root) for root in self._roots):
            where = f"is outside of the schema's folder {shorten(str(self._roots[0]))!r}"
            return Hindrance(f"include of {shorten(href)!r} {where}; --include-root DIR allows another folder", is_refused=True)
        return self._insert_tree(element, target, resolved, chain)

    def _insert_tree(self, element: etree._Element, target: Path, resolved: Path, chain: tuple[Path, ...]) -> Hindrance | None:
        shown = shorten(str(target))
        if resolved in chain:
            route = " -> ".join(one.name for one in (*chain[chain.index(resolved) :], resolved))
            return Hindrance(f"circular include: {route}")
        refusals = (
            (
                len(chain) > DEPTH_MAX or len(self._report.documents) >= FILES_MAX,
                f"include of {shown!r}: more than {DEPTH_MAX} files deep or {FILES_MAX} files in all",
            ),
            (
                resolved.exists() and not (resolved.is_file() or resolved.is_dir()),
                f"include of {shown!r}, which is no regular file",
            ),
        )
        for is_wrong, message in refusals:
            if is_wrong:
                return Hindrance(message, is_refused=True)
        try:
            document = read_document(resolved, str(target))
        except SchemaError as error:
            first = error.problems[0]
            if target.is_file():
                self._report.problems.extend(error.problems)
                return Hindrance(f"include of {shorten(str(target))!r}, which cannot be used")
            return Hindrance(f"include of {shorten(str(target))!r}: {first.message}", is_unreadable=True)
        self._length += len(document.data)
        if self._length > LENGTH_MAX:
            message = f"include of {shorten(str(target))!r}: the schema's files have more than {LENGTH_MAX} bytes in all"
            return Hindrance(message, is_refused=True)
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
        (
            kind != "xml",
            f"include of {shorten(href)!r} with parse {shorten(kind)!r}; only XML is included, as text of a file would become code",
        ),
    )
    return next((message for is_wrong, message in problems if is_wrong), None)


def _is_in_fallback(element: etree._Element) -> bool:
    parent = element.getparent()
    return parent is not None and split(parent)[0] in NAMESPACES


def _replace(element: etree._Element, new: list[etree._Element]) -> None:
    """Put elements in an element's place."""
    parent = element.getparent()
    if parent is None:
        return
    index = parent.index(element)
    tail = element.tail or ""
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
