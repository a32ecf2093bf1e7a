"""Names of packages as they are given on a command line, and whether what is generated under a name can be imported."""

from __future__ import annotations

import argparse
import importlib.util
import re
import unicodedata
from pathlib import Path

from aerowire.codegen.sbe.naming import KEYWORDS, STANDARD_MODULES, package_name


def package_argument(text: str) -> str:
    """A dotted name that can be imported as it is.  Raises what argparse tells as wrong usage."""
    wrong = _wrong(text)
    if wrong:
        parts = [one for one in re.split(r"[./\\]", text) if any(f"_{character}".isidentifier() for character in one)]
        raise argparse.ArgumentTypeError(f"{text!r} is no package that Python can import: {wrong}; try {package_name('.'.join(parts))}")
    return text


def _wrong(text: str) -> str:
    parts = text.split(".")
    for part in parts:
        if not part.isidentifier():
            return f"{part!r} is no identifier" if part else "a part of it is empty"
        if part in KEYWORDS:
            return f"{part!r} is a keyword"
        if part != unicodedata.normalize("NFKC", part):
            return f"Python looks for {unicodedata.normalize('NFKC', part)!r} instead of {part!r}"
    return f"{parts[0]!r} is a module of the standard library" if parts[0] in STANDARD_MODULES else ""


def shadowing(package: str, out: Path) -> str:
    """What else is installed under the name that the package begins with, as a line for people; nothing if there is nothing."""
    first, dot, _ = package.partition(".")
    try:
        spec = importlib.util.find_spec(first)
    except (ImportError, ValueError):
        return ""
    if spec is None:
        return ""
    folders = list(spec.submodule_search_locations or ())
    if (dot and spec.origin is None) or not (spec.origin or folders):
        return ""  # a folder without a module of its own: Python looks into all of that name
    where = Path(spec.origin or folders[0])
    if where.resolve().is_relative_to((out / first).resolve()):
        return ""
    return f"{first} is also {where}: which of them comes first on the path hides the other; --package gives this one another name"
