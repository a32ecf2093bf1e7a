"""A leading underscore means that only one module uses the name: a `.py` file, or a `.pyx` and its `.pxd`.

`.py` files are parsed; native sources are read as text without strings and comments. A name is a module's own if it occurs there other
than behind a dot, or is assigned to `self` or `cls`. What a class inherits from another module is not its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = ("runtime", "pcap", "conformance", "codegen")
PROJECT = "aerowire"  # private names of others are theirs to judge
RULE = "a name with a leading underscore is for its own module only"

# Methods of named tuples, which have an underscore to keep out of the way of fields.
NAMED_TUPLE = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
# Names that the modules of a package share all the same.
EXCEPTIONS = {
    # Classes that applications hold: the underscore keeps what is for other modules out of their completion and documentation.
    "aerowire.client": (
        "_add_image", "_conductor", "_context", "_end", "_ensure_open", "_frame_at", "_on_image_failed", "_reject_image", "_remove_image",
        "_remove_images", "_retain", "_set_channel_status_id", "_wait_for_driver", "_wait_for_rejection", "_waiting",
    ),
    "aerowire.aio": (
        "_add_watch", "_aeron", "_changes", "_close_client", "_conductor", "_end", "_ensure_open", "_handle", "_handles", "_images",
        "_is_released", "_loop", "_messages", "_on_agent_start", "_on_image_gone", "_open_subscription", "_poll", "_raise_failure",
        "_reason", "_senders", "_too_late", "_until_sent", "_wake", "_watches", "_watching",
    ),
    "aerowire.archive": ("_aeron", "_ask", "_list", "_replicate", "_session", "_steps"),
    # Parts of generated classes, whose other names come from a schema: a field of it may be called anything without an underscore.
    "aerowire.codegen.sbe.flyweights.support": (
        "_BLOCK_LENGTH", "_HEADER", "_MEMBERS", "_NAME", "_NULLS", "_PARTS", "_buffer", "_data", "_entry", "_errors", "_group",
        "_marked_text", "_offset", "_order", "_path", "_shown", "_start_of", "_text", "_value",
    ),
}  # fmt: skip

PRIVATE = re.compile(r"_(?!_)\w*[^\W_]|__\w*[^\W_]")  # neither `__init__` nor `_fields_`, which belong to protocols
STRING_OR_COMMENT = re.compile(r'(f?)("""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|#[^\n]*')
IMPORT = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n]+)", re.MULTILINE)
CLASS = re.compile(r"^(?:cdef )?class (\w+)(?:\(([^)]*)\))?:[^\n]*\n((?:(?:[ \t][^\n]*)?\n)*)", re.MULTILINE)
BARE_WORD = re.compile(r"(?<![\w.])_\w+")
ACCESS = re.compile(r"(\w+|[)\]])(?=\.(_\w+))")
CAST_ACCESS = re.compile(r"\(<(\w+)>(?:[^()\n]|\([^()\n]*\))*\)\.(_\w+)")
TYPED = re.compile(r"\b([A-Z]\w+) (?!not\b)(\w+)(?= not None|\s*[,)=\n])")


class Use(NamedTuple):
    """A private name behind a dot, with what stands before the dot; or an imported one, without owner."""

    path: str
    line: int
    name: str
    owner: str | None


@dataclass
class Class:
    bases: list[str]
    own: dict[str, tuple[str, int]] = field(default_factory=dict)
    accessed: dict[str, tuple[str, int]] = field(default_factory=dict)


@dataclass
class Module:
    """What the files of one module say of private names. `types` maps variables to the classes that they are declared of."""

    own: set[str] = field(default_factory=set)
    uses: list[Use] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    types: dict[str, set[str]] = field(default_factory=dict)


Modules = dict[str, Module]


def is_own(origin: str) -> bool:
    return origin.partition(".")[0] == PROJECT


def is_private(name: str) -> bool:
    return PRIVATE.fullmatch(name) is not None and name not in NAMED_TUPLE


def read(sources: Mapping[str, str]) -> Modules:
    """Read sources by their path below a root, such as aerowire/driver/context.py."""
    modules: Modules = {}
    for path, text in sources.items():
        name = path.rpartition(".")[0].replace("/", ".").removesuffix(".__init__")
        reader = read_python if path.endswith(".py") else read_native
        reader(modules.setdefault(name, Module()), name, path, text)
    return modules


def read_python(module: Module, name: str, path: str, text: str) -> None:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                module.imports |= {each.asname or each.name.partition(".")[0]: each.name for each in names}
            case ast.ImportFrom(names=names):
                add_imports(
                    module, name, path, node.lineno, "." * node.level + (node.module or ""), [(each.name, each.asname) for each in names]
                )
            case ast.Attribute(attr=attr) if is_private(attr):
                module.uses.append(Use(path, node.lineno, attr, ast.unparse(node.value)))
            case ast.arg(arg=variable, annotation=ast.Name(id=class_name)):
                module.types.setdefault(variable, set()).add(class_name)
            case ast.ClassDef():
                module.classes[node.name] = python_class(node, path)
        module.own |= {each for each in own_names(node) if is_private(each)}


def own_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
            yield name


def python_class(node: ast.ClassDef, path: str) -> Class:
    found = Class([ast.unparse(each) for each in node.bases])
    for each in ast.walk(node):
        place = (path, getattr(each, "lineno", node.lineno))
        found.own |= {name: place for name in own_names(each) if is_private(name)}
        if (
            isinstance(each, ast.Attribute)
            and isinstance(each.value, ast.Name)
            and each.value.id in {"self", "cls"}
            and is_private(each.attr)
        ):
            found.accessed[each.attr] = place
    return found


def read_native(module: Module, name: str, path: str, text: str) -> None:
    code = STRING_OR_COMMENT.sub(blanked, text)
    for match in IMPORT.finditer(code):
        names = [each.split() for each in match[2].strip("()").split(",") if each.strip()]
        add_imports(module, name, path, line_of(code, match), match[1], [(each[0], each[-1]) for each in names])
    code = IMPORT.sub(lambda match: "\n" * match[0].count("\n"), code)
    module.own |= {each for each in BARE_WORD.findall(code) if is_private(each)}
    for match in [*ACCESS.finditer(code), *CAST_ACCESS.finditer(code)]:
        if is_private(match[2]):
            owner = f"<{match[1]}>" if match.re is CAST_ACCESS else match[1]
            module.uses.append(Use(path, code.count("\n", 0, match.start(2)) + 1, match[2], owner))
    for class_name, variable in TYPED.findall(code):
        module.types.setdefault(variable, set()).add(class_name)
    for match in CLASS.finditer(code):
        found = module.classes.setdefault(match[1], Class([]))
        found.bases += [each.strip() for each in (match[2] or "").split(",") if each.strip()]
        for word in re.finditer(r"(?:(?<![\w.])|\b(self|cls)\.)(_\w+)", match[3]):
            if is_private(word[2]):
                place = (path, line_of(code, match) + 1 + match[3].count("\n", 0, word.start()))
                (found.accessed if word[1] else found.own)[word[2]] = place


def blanked(match: re.Match[str]) -> str:
    """Return the lines of a string or a comment without their text, and what a formatted string evaluates."""
    if match[2] is None:
        return ""
    values = " ".join(re.findall(r"\{([^{}]*)\}", match[2])) if match[1] else ""
    return f'"" {values}' + "\n" * (match[0].count("\n") - values.count("\n"))


def line_of(code: str, match: re.Match[str]) -> int:
    return code.count("\n", 0, match.start()) + 1


def add_imports(module: Module, name: str, path: str, line: int, origin: str, names: list[tuple[str, str | None]]) -> None:
    if origin.startswith("."):
        dots = len(origin) - len(origin.lstrip("."))
        origin = ".".join([*name.split(".")[:-dots], origin.lstrip(".")]).rstrip(".")
    for imported, alias in names:
        module.imports[alias or imported] = f"{origin}.{imported}"
        if is_private(imported) and is_own(origin):
            module.uses.append(Use(path, line, imported, None))


def breaches(modules: Modules) -> set[tuple[str, int, str]]:
    """Return (path, line, name) for each use of a private name outside of its module."""
    found = set()
    for name, module in modules.items():
        found |= {(use.path, use.line, use.name) for use in module.uses if is_foreign(modules, name, use)}
        for class_name, declared in module.classes.items():
            inherited = inherited_names(modules, name, class_name)
            found |= {(*place, each) for each, place in (declared.accessed | declared.own).items() if each in inherited}
    return found


def is_foreign(modules: Modules, name: str, use: Use) -> bool:
    module = modules[name]
    if use.owner is None:
        return True
    root = re.match(r"\w+", use.owner)
    if root and not is_own(module.imports.get(root[0], PROJECT)):
        return False
    types = {use.owner[1:-1]} if use.owner.startswith("<") else module.types.get(use.owner, set())
    declaring = {origin for each in types for origin in declaring_modules(modules, name, each, use.name)}
    return name not in declaring if declaring else use.name not in module.own


def declaring_modules(modules: Modules, name: str, class_name: str, private: str) -> Iterator[str]:
    """Yield the modules in which a class, as module `name` calls it, or one of its bases declares a private name."""
    for origin, declared in lineage(modules, name, class_name):
        if private in declared.own:
            yield origin


def inherited_names(modules: Modules, name: str, class_name: str) -> set[str]:
    """Return the private names that a class has from classes of other modules."""
    return {each for origin, declared in lineage(modules, name, class_name) if origin != name for each in declared.own}


def lineage(modules: Modules, name: str, class_name: str) -> Iterator[tuple[str, Class]]:
    """Yield a class and its bases with their modules, as far as they are among `modules`."""
    module = modules.get(name, Module())
    if class_name in module.classes:
        yield name, module.classes[class_name]
        for base in module.classes[class_name].bases:
            yield from lineage(modules, name, base.partition("[")[0])
    elif class_name in module.imports:
        origin, _, imported = module.imports[class_name].rpartition(".")
        yield from lineage(modules, origin, imported)


@pytest.fixture(scope="module")
def crossing() -> set[tuple[str, int, str]]:
    paths = [(root, path) for root in SOURCE_ROOTS for path in (ROOT / root).rglob("*.p*") if path.suffix in {".py", ".pyx", ".pxd"}]
    return breaches(read({str(path.relative_to(ROOT / root)): path.read_text() for root, path in paths}))


def exception_for(path: str, name: str) -> tuple[str, str] | None:
    packages = [each for each, names in EXCEPTIONS.items() if path.startswith(each.replace(".", "/") + "/") and name in names]
    return (packages[0], name) if packages else None


def test_private_names_stay_in_their_modules(crossing: set[tuple[str, int, str]]) -> None:
    found = [f"{path}:{line}: {name}: {RULE}" for path, line, name in sorted(crossing) if exception_for(path, name) is None]
    assert not found, "\n".join(found)


def test_every_exception_is_needed(crossing: set[tuple[str, int, str]]) -> None:
    needed = {exception_for(path, name) for path, _, name in crossing}
    assert {(package, name) for package, names in EXCEPTIONS.items() for name in names} <= needed


BASE_PXD = "cdef class Base:\n    cdef int _count\n    cdef int total\n    cdef void _grow(self) noexcept nogil\n"
BASE_PY = "class Base:\n    def __init__(self):\n        self._count = 0\n\n    def _grow(self):\n        self._count += 1\n"


@pytest.mark.parametrize(
    ("path", "text", "line", "name"),
    [
        ("aerowire/a/use.py", "from aerowire.a.base import Base\n\ndef f(base: Base):\n    return base._count\n", 4, "_count"),
        ("aerowire/a/use.py", "from aerowire.a.base import _grow\n", 1, "_grow"),
        ("aerowire/a/use.py", "from .base import _grow\n", 1, "_grow"),
        ("aerowire/a/use.py", "from aerowire.a import base\n\nbase._grow()\n", 3, "_grow"),
        ("aerowire/a/use.py", "def f(base):\n    base._count = 1\n", 2, "_count"),
        (
            "aerowire/a/use.py",
            "from aerowire.a.base import Base\n\nclass Use(Base):\n    def f(self):\n        self._count = 1\n",
            5,
            "_count",
        ),
        ("aerowire/a/use.py", "from aerowire.a.base import Base\n\nclass Use(Base):\n    def _grow(self):\n        pass\n", 4, "_grow"),
        ("aerowire/a/use.pyx", "from aerowire.a.base cimport _grow\n", 1, "_grow"),
        ("aerowire/a/use.pyx", "from aerowire.a.base cimport (\n    Base, _grow)\n", 1, "_grow"),
        (
            "aerowire/a/use.pyx",
            "from aerowire.a.base cimport Base\n\ncdef int f(Base base) noexcept nogil:\n    return base._count\n",
            4,
            "_count",
        ),
        ("aerowire/a/use.pyx", "cdef int f(void* it) noexcept nogil:\n    return (<Base>it)._count\n", 2, "_count"),
        (
            "aerowire/a/use.pyx",
            "cdef class Use:\n    cdef object _base\n\n    def f(self):\n        return self._base._count\n",
            5,
            "_count",
        ),
        ("aerowire/a/use.pyx", 'def f(base):\n    return f"{base._count}"\n', 2, "_count"),
        # An own name of the same spelling hides nothing where the type is known.
        (
            "aerowire/a/use.pyx",
            "from aerowire.a.base cimport Base\n\ncdef class Use:\n    cdef int _count\n\ncdef int f(Base base):\n    return base._count\n",
            7,
            "_count",
        ),
        (
            "aerowire/a/use.pyx",
            "from aerowire.a.base cimport Base\n\ncdef class Use(Base):\n    cdef void _grow(self) noexcept nogil:\n        pass\n",
            4,
            "_grow",
        ),
        (
            "aerowire/a/use.pyx",
            "from aerowire.a.base cimport Base\n\ncdef class Use(Base):\n    cdef void f(self):\n        self._count = 1\n",
            5,
            "_count",
        ),
    ],
)
def test_a_breach_is_found(path: str, text: str, line: int, name: str) -> None:
    base = ("aerowire/a/base.pxd", BASE_PXD) if path.endswith(".pyx") else ("aerowire/a/base.py", BASE_PY)
    assert breaches(read(dict([base, (path, text)]))) == {(path, line, name)}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("aerowire/a/use.py", "class Use:\n    def __init__(self, other):\n        self._count = other._count if other else 0\n"),
        ("aerowire/a/use.py", "import os\nimport sys\n\nos._exit(sys._getframe().f_lineno)\n"),
        ("aerowire/a/use.py", "from lxml.etree import _Element\n"),
        ("aerowire/a/use.py", "def f(point):\n    return point._replace(x=1)._asdict()\n"),
        ("aerowire/a/use.py", "def f(kind):\n    return kind._value2member_map_, kind.__name__\n"),
        ("aerowire/a/use.py", 'TEXT = "base._count"  # base._count\n'),
        ("aerowire/a/use.py", "from aerowire.a.base import Base\n\nclass Use(Base):\n    def _shrink(self):\n        self._grown = 1\n"),
        (
            "aerowire/a/base.pyx",
            "cdef class Base:\n    cdef void _grow(self):\n        self._count += 1\n\ndef f(Base other):\n    other._count = 0\n",
        ),
        ("aerowire/a/use.pyx", '"""Knows base._count."""\n# base._count\nTEXT = "base._count"\n'),
        ("aerowire/a/use.pyx", "from aerowire.a.base cimport Base\n\ncdef int f(Base base):\n    return base.total\n"),
    ],
)
def test_what_is_allowed_is_not_a_breach(path: str, text: str) -> None:
    base = ("aerowire/a/base.pxd", BASE_PXD) if path.endswith(".pyx") else ("aerowire/a/base.py", BASE_PY)
    assert not breaches(read(dict([base, (path, text)])))
