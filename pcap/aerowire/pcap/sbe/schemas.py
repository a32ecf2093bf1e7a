"""From a schema to the generated tables that decode its messages, in memory and once per process.

What goes to other processes is the text of the generated modules: they need NumPy and pyarrow, but neither the code generator, nor lxml,
nor a file of the machine that made them.  This is the one place of aerowire.pcap that uses the code generator.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Union

from aerowire.pcap.sbe.errors import SbeSchemaError

if TYPE_CHECKING:
    from aerowire.codegen.sbe.ir import MessageSchema

BUILT_IN: Final = ("archive", "archive_mark", "cluster", "cluster_mark", "cluster_node_state")
# Generated modules in an order in which each finds those that it imports.
MODULES: Final = ("_errors", "_columns", "_arrow", "arrow")
# Schemas read in one process; with more, those read first are generated again when they are asked for.
CACHED_MAX: Final = 256

_lock = threading.RLock()
_read: dict[tuple[object, ...], Schema] = {}
_loaded: dict[str, ModuleType] = {}


@dataclass(frozen=True)
class Schema:
    """A schema ready for use: pass it wherever a schema is asked for.  Can be pickled, and is then independent of any file.

    `sources` are the generated modules of MODULES, none for one of BUILT_IN, whose modules are installed.
    """

    name: str
    version: int
    key: str
    sources: tuple[str, ...] = field(default=(), repr=False)

    @property
    def module(self) -> Any:
        """The generated module: `MESSAGES` by name, `SCHEMA` of all."""
        with _lock:
            if self.key not in _loaded:
                _loaded[self.key] = self._load()
            return _loaded[self.key]

    def _load(self) -> ModuleType:
        if not self.sources:
            return import_module(f"aerowire.codecs.arrow.{self.key}")
        package = f"_aerowire_sbe_{self.key}"
        sys.modules[package] = parent = ModuleType(package)
        parent.__path__ = []
        for name, text in zip(MODULES, self.sources, strict=True):
            module = ModuleType(f"{package}.{name}")
            module.__package__ = package
            sys.modules[module.__name__] = module
            exec(compile(text, f"<{name} of {self.name}>", "exec"), module.__dict__)
        return module

    @property
    def messages(self) -> tuple[str, ...]:
        """The names of the messages, in the schema's order."""
        return tuple(self.module.MESSAGES)

    def table(self, message: str) -> Any:
        """Return the table of a message.  Raises SbeSchemaError for a name that the schema does not have."""
        tables = self.module.MESSAGES
        if message not in tables:
            raise SbeSchemaError(f"{self.name}: has no message {message!r}; expected one of {_some(list(tables))}")
        return tables[message]

    def acting_version(self, version: int | None) -> int:
        """Return a version to write, by default the schema's own.  Raises SbeSchemaError for one that there was not."""
        if version is not None and not 0 <= version <= self.version:
            raise SbeSchemaError(f"version: {self.name} has versions 0 to {self.version}, found {version}")
        return self.version if version is None else version


SchemaLike = Union[str, "PathLike[str]", Schema, "MessageSchema"]


def load_schema(
    schema: SchemaLike,
    *,
    lenient: bool = False,
    since_version: int | None = None,
    include_roots: Sequence[str | PathLike[str]] = (),
) -> Schema:
    """Return a schema ready for use.

    `schema` is the path of an XML file, "archive", "cluster" or another of BUILT_IN for Aeron's own (a file of that name is `./archive`),
    a MessageSchema of the code generator, or what this function returned.

    Of files, `lenient` reads schemas in which a value of an enum equals its null value, and `since_version` reads the schema as it was in
    a version.  `include_roots` are folders besides the schema's own from which it may include files.

    Raises SbeSchemaError for a file that is missing or no valid schema, with every problem that was found.
    """
    roots = _roots(include_roots)
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str) and schema in BUILT_IN:
        return _once(("built-in", schema), lambda: _built_in(schema))
    if isinstance(schema, str | PathLike):
        return _of_file(Path(schema), lenient, since_version, roots)
    if not hasattr(schema, "messages") or not hasattr(schema, "package"):
        raise SbeSchemaError(f"schema: expected a path, one of {', '.join(BUILT_IN)}, or a MessageSchema, found {type(schema).__name__}")
    return _generated(schema)


def _roots(folders: Sequence[str | PathLike[str]]) -> tuple[Path, ...]:
    if isinstance(folders, str | bytes | PathLike) or not isinstance(folders, Iterable):
        raise SbeSchemaError(f"include_roots: expected a sequence of folders, found {folders!r}")
    found = tuple(folders)
    for one in found:
        if not isinstance(one, str | PathLike):
            raise SbeSchemaError(f"include_roots: expected the path of a folder, found {one!r}")
    return tuple(Path(one) for one in found)


def _some(names: list[str], most: int = 20) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else "none: it has no messages"


def _once(key: tuple[object, ...], make: Callable[[], Schema]) -> Schema:
    with _lock:
        if key not in _read:
            made = make()
            while len(_read) >= CACHED_MAX:
                del _read[next(iter(_read))]
            _read[key] = made
        return _read[key]


def _built_in(name: str) -> Schema:
    flyweights = import_module(f"aerowire.codecs.flyweights.{name}")
    versions = (getattr(getattr(flyweights, one), "SBE_SCHEMA_VERSION", None) for one in flyweights.__all__ if one.endswith("Decoder"))
    return Schema(name, next(int(one) for one in versions if one is not None), name)


def _of_file(path: Path, lenient: bool, since_version: int | None, roots: tuple[Path, ...]) -> Schema:
    try:
        text = path.read_bytes()
    except OSError as error:
        hint = f"; Aeron's own are called {', '.join(BUILT_IN)}" if path.parent == Path() and not path.suffix else ""
        raise SbeSchemaError(f"{path}: expected a file with an SBE schema: {error.strerror or error}{hint}") from None
    key = (hashlib.sha256(text).digest(), lenient, since_version)
    with _lock:
        if key in _read:
            return _read[key]
    made, has_includes = _read_file(path, lenient, since_version, roots)
    # A file that is included may change while the text of the schema stays as it is.
    return made if has_includes else _once(key, lambda: made)


def _read_file(path: Path, lenient: bool, since_version: int | None, roots: tuple[Path, ...]) -> tuple[Schema, bool]:
    """Read and generate a schema; return it and whether it includes other files."""
    try:
        from aerowire.codegen.document import read_document
        from aerowire.codegen.problems import SchemaError
        from aerowire.codegen.sbe.reader import ReadOptions, read_message_document
        from aerowire.codegen.sbe.reader.xinclude import has_includes
    except ImportError as error:
        raise SbeSchemaError(f"{path}: reading schemas needs {error.name}: pip install 'aerowire[codegen]'") from error
    try:
        document = read_document(path, str(path))
        is_expanded = has_includes(document.root)
        reading = read_message_document(path, document, ReadOptions(lenient=lenient, since_version=since_version, include_roots=roots))
        if reading.schema is None:
            raise SchemaError([problem for problem in reading.problems if problem.is_error])
        return _generated(reading.schema), is_expanded
    except SchemaError as error:
        # The reader names the option of `codegen`; here the folder is an argument.
        text = str(error).replace("--include-root DIR allows", "include_roots=[DIR] allows")
        raise SbeSchemaError(text) from error


def _generated(schema: MessageSchema) -> Schema:
    from aerowire.codegen.sbe.placement import Placement
    from aerowire.codegen.sbe.targets.arrow import ArrowMessageTarget

    files = ArrowMessageTarget().render(schema, Placement("schema"))
    sources = tuple(files[f"schema/{name}.py"] for name in MODULES)
    key = hashlib.sha256("\0".join(sources).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return Schema(schema.source, schema.version, key, sources)
