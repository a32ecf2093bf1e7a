"""Where schemas are: the files that names on a command line mean, and the folder of the project's own.

Needs no package besides Python, so that the command's help works without lxml.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aerowire.codegen.problems import Location, Problem, SchemaError

NAME_PREFIX = "aerowire:"


@dataclass(frozen=True, slots=True)
class Source:
    """A schema file, and what messages call it; `is_of_set` when it is one of the folder that a run takes for spec/."""

    path: Path
    name: str
    is_of_set: bool = False


def home() -> Path:
    """The root of the checkout that this package stands in; of an installation, the package itself."""
    package = Path(__file__).resolve().parent
    return package if (package / "spec").is_dir() else package.parents[2]


def default_spec() -> Path:
    return home() / "spec"


def find_sources(names: Sequence[str], spec: Path) -> list[Source]:
    """Return the files that the names mean: a path, or `aerowire:NAME` in `spec`; without names, all of `spec`.

    Raises SchemaError when the folder holds none or a name is unknown.
    """
    if not spec.is_dir():
        raise SchemaError([Problem(Location(str(spec), 1, 1), "is no folder with schemas")])
    known = {path.stem: path for path in sorted(spec.glob("*.xml"))}
    if not names:
        if not known:
            raise SchemaError([Problem(Location(str(spec), 1, 1), "holds no schema (*.xml)")])
        return [Source(path, shown(path), is_of_set=True) for path in known.values()]
    found: list[Source] = []
    problems: list[Problem] = []
    for name in names:
        if not name.startswith(NAME_PREFIX):
            found.append(Source(Path(name), name))
        elif name.removeprefix(NAME_PREFIX) in known:
            path = known[name.removeprefix(NAME_PREFIX)]
            found.append(Source(path, shown(path), is_of_set=True))
        else:
            there = ", ".join(NAME_PREFIX + stem for stem in known)
            problems.append(Problem(Location(name, 1, 1), f"is no schema of {shown(spec)}; there are {there}"))
    if problems:
        raise SchemaError(problems)
    return found


def shown(path: Path) -> str:
    """A path as short as it can be from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
