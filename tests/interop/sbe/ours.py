"""Our ways to read and write a schema's messages, each asked in the same way: the interpreter, and generated codecs, compiled or not."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

from aerowire.codegen.output import write_files
from aerowire.codegen.sbe.interpreter import MessageCodec
from aerowire.codegen.sbe.ir import Block, Composite, Field, Member, Message, Named, Presence
from aerowire.codegen.sbe.naming import class_names, property_names
from aerowire.codegen.sbe.native.build import c_compiler, compile_module
from aerowire.codegen.sbe.native.package import MODULE, native_files
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.targets.flyweights import MessageFlyweightsTarget, support_name
from tests.support import compiler
from tests.support.sbe.values import Values


@dataclass(frozen=True)
class Read:
    """A message as one of ours read it, and how many bytes that took, where it says so."""

    message: str
    values: Values
    length: int | None


class Codec(Protocol):
    """Values are in the form of tests.support.sbe.values."""

    name: str

    def encode(self, message: str, values: Values) -> bytes: ...

    def decode(self, message: bytes) -> Read: ...


class Package:
    """A schema and the package that was generated for it, imported; on request with compiled codecs."""

    _count = itertools.count()

    def __init__(self, schema: Path, *, is_compiled: bool = False) -> None:
        self.schema = load_message_schema(schema)
        self.names = class_names(self.schema)
        # Compiled, the same schema has the same name in each run, so that the same C is made of it.
        number = hashlib.sha256(schema.read_bytes()).hexdigest()[:12] if is_compiled else f"{os.getpid()}_{next(self._count)}"
        self.name = f"drawn_{number}"
        place = Placement(self.name)
        files = MessageFlyweightsTarget().render(self.schema, place)
        if is_compiled:
            files |= {f"{self.name}/{name}": text for name, text in native_files(self.schema, support_name(place)).items()}
        write_files(schema.parent, files, is_complete=False)
        if is_compiled:
            with patch.dict(os.environ, CFLAGS="-O0", CC=compiler.command(*c_compiler())):
                compile_module(schema.parent / self.name / f"{MODULE}.pyx", f"{self.name}.{MODULE}")
        importlib.invalidate_caches()
        self.module: Any = importlib.import_module(self.name)
        self.compiled: Any = importlib.import_module(f"{self.name}.{MODULE}") if is_compiled else None

    def forget(self) -> None:
        """Leave nothing of it in the interpreter."""
        for name in [name for name in sys.modules if name == self.name or name.startswith(f"{self.name}.")]:
            del sys.modules[name]

    def message(self, name: str) -> Message:
        return next(one for one in self.schema.messages if one.name == name)

    def numbered(self, template_id: int) -> Message:
        found = self.schema.message(template_id)
        assert found is not None
        return found


@contextmanager
def generated(schemas: Mapping[int, Path], *, is_compiled: bool = False) -> Iterator[dict[int, Package]]:
    """Generate packages beside the schemas of several versions, and forget them with the block."""
    folders = {str(schema.parent) for schema in schemas.values()}
    sys.path[:0] = folders
    packages: dict[int, Package] = {}
    try:
        for version, schema in schemas.items():
            packages[version] = Package(schema, is_compiled=is_compiled)
        yield packages
    finally:
        for package in packages.values():
            package.forget()
        sys.path[:] = [one for one in sys.path if one not in folders]


class Interpreter:
    """The codec that needs no generated code."""

    name = "interpreter"

    def __init__(self, package: Package) -> None:
        self._codec = MessageCodec(package.schema)

    def encode(self, message: str, values: Values) -> bytes:
        return self._codec.encode(message, values)

    def decode(self, message: bytes) -> Read:
        read = self._codec.decode(message)
        return Read(read.message.name, read.values, read.length)


class Records:
    """The data classes of a generated package: the fused reader and writer."""

    name = "data classes"

    def __init__(self, package: Package) -> None:
        self._package = package
        self._module = package.module

    def encode(self, message: str, values: Values) -> bytes:
        kind = getattr(self._module, self._package.names.messages[message])
        data: bytes = kind.from_dict(_python(self._package.message(message), values)).encode()
        return data

    def decode(self, message: bytes) -> Read:
        record = self._module.decode(message)
        found = self._package.numbered(self._module.decoder_of(message).SBE_TEMPLATE_ID)
        return Read(found.name, _schema(found, record.to_dict()), None)


class Flyweights:
    """Decoders and encoders of a generated package, property by property."""

    name = "flyweights"

    def __init__(self, package: Package) -> None:
        self._package = package
        self._module = package.module

    def encode(self, message: str, values: Values) -> bytes:
        encoder = getattr(self._module, self._package.names.messages[message] + "Encoder")()
        buffer = bytearray(1 << 20)
        encoder.wrap_and_apply_header(buffer)
        _write(self._package.message(message), encoder, values)
        return bytes(buffer[: encoder.sbe_limit])

    def decode(self, message: bytes) -> Read:
        decoder = self._module.decoder_of(message)
        found = self._package.numbered(decoder.SBE_TEMPLATE_ID)
        header = self._package.schema.header.size
        length = header + decoder.sbe_decoded_length
        values = _read(found, decoder)
        assert header + decoder.encoded_length == length, "what was read is as long as what is skipped"
        return Read(found.name, _with_nulls(found, values, _schema(found, decoder.to_dict())), length)


class CompiledRecords(Records):
    """The data classes of compiled codecs."""

    name = "compiled data classes"

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self._module = package.compiled


class CompiledFlyweights(Flyweights):
    """The decoders and encoders of compiled codecs, property by property."""

    name = "compiled flyweights"

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self._module = package.compiled


KINDS: tuple[Callable[[Package], Codec], ...] = (Interpreter, Records, Flyweights)

COMPILED_KINDS: tuple[Callable[[Package], Codec], ...] = (CompiledRecords, CompiledFlyweights)


def _python(block: Block | Composite, values: Values) -> Values:
    """Values by the names of Python."""
    names = property_names(block)
    inner = _inner(block)
    return {names[name]: _each(_python, inner.get(name), value) for name, value in values.items()}


def _schema(block: Block | Composite, values: Values) -> Values:
    """Values by the names of the schema."""
    inner = _inner(block)
    return {name: _each(_schema, inner.get(name), values[python]) for name, python in property_names(block).items()}


def _inner(block: Block | Composite) -> dict[str, Block | Composite]:
    """What has members of its own."""
    if isinstance(block, Composite):
        return {one.name: one.type for one in block.members if isinstance(one.type, Composite)}
    found: dict[str, Block | Composite] = {one.name: one.type for one in block.fields if isinstance(one.type, Composite)}
    return found | {one.name: one for one in block.groups}


def _each(convert: Callable[[Any, Values], Values], kind: Block | Composite | None, value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if kind is None or value is None:
        return value
    return [convert(kind, one) for one in value] if isinstance(value, list) else convert(kind, value)


def _write(block: Block | Composite, encoder: Any, values: Values) -> None:
    inner, names = _inner(block), property_names(block)
    # In the schema's order, as groups and data have to be.
    for one in _members(block):
        if one.name not in values or (isinstance(one, Field | Member) and one.presence is Presence.CONSTANT):
            continue
        python, kind, value = names[one.name], inner.get(one.name), values[one.name]
        if isinstance(kind, Composite) and value is None:
            setattr(encoder, python, None)
        elif isinstance(kind, Composite):
            _write(kind, getattr(encoder, python), value)
        elif kind is not None:
            group = getattr(encoder, python)(len(value))
            for entry in value:
                _write(kind, group.next(), entry)
        else:
            setattr(encoder, python, value)


def _read(block: Block | Composite, decoder: Any) -> Values:
    inner, names = _inner(block), property_names(block)
    found: Values = {}
    for one in _members(block):
        name, value = one.name, getattr(decoder, names[one.name])
        kind = inner.get(name)
        if isinstance(value, memoryview):
            value = bytes(value)
        if isinstance(kind, Composite):
            value = None if value is None else _read(kind, value)
        elif kind is not None:
            value = [_read(kind, entry) for entry in value]
        found[name] = list(value) if isinstance(value, tuple) else value
    return found


def _with_nulls(block: Block | Composite, members: Values, shown: Values) -> Values:
    """The members that a decoder gave, and None for each composite that its `to_dict()` shows to be without a value."""
    found = dict(members)
    for name, kind in _inner(block).items():
        given, plain = members[name], shown[name]
        if isinstance(given, list):
            found[name] = [_with_nulls(kind, one, other) for one, other in zip(given, plain, strict=True)]
        elif given is not None:
            found[name] = None if plain is None else _with_nulls(kind, given, plain)
    return found


def _members(block: Block | Composite) -> Iterable[Named]:
    return block.members if isinstance(block, Composite) else (*block.fields, *block.groups, *block.data)
