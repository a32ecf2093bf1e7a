"""All targets agree: the same values through flyweights, NumPy, the native accessors and the scapy layers are the same bytes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from aerowire.codecs.scapy import transport as layers
from aerowire.codegen.layouts.ir import Repeat, Schema, Struct
from aerowire.codegen.names import snake, upper
from aerowire.codegen.project import Project

GENERATED = Path(__file__).resolve().parents[3] / "generated"
ROUNDS = 20
Draw = Callable[[Struct], dict[str, Any]]


def probe_source(project: Project) -> str:
    """Cython that reads and writes every field of every struct through its accessors."""
    lines = ["from libc.stdint cimport int32_t, int64_t, uint8_t"]
    for schema in project.schemas:
        lines += [f"from aerowire.codecs.native cimport {schema.package} as {schema.package}_"]
    for schema in project.schemas:
        for struct in schema.structs:
            module, name = f"{schema.package}_", snake(struct.name)
            lines += [
                f"def {schema.package}_read_{name}(bytearray data):",
                "    cdef const uint8_t* p = <uint8_t*><char*>data",
                "    return {",
            ]
            for field in struct.fields:
                one = f"{module}.{name}_{field.name}"
                many = f"tuple([{one}_at(p, i) for i in range({field.count})])"
                lines.append(f"        {field.name!r}: {f'{one}(p)' if field.count is None else many},")
            lines += ["    }", f"def {schema.package}_write_{name}(bytearray data, values):", "    cdef uint8_t* p = <uint8_t*><char*>data"]
            for field in struct.fields:
                setter = f"{module}.{name}_set_{field.name}"
                if field.count is None:
                    lines.append(f"    {setter}(p, values[{field.name!r}])")
                else:
                    lines.append(f"    for i in range({field.count}): {setter}_at(p, i, values[{field.name!r}][i])")
            lines.append("    pass")
    lines += ["def constants():", "    return {"]
    lines += [f"        {name!r}: {schema.package}_.{name}," for schema in project.schemas for name in constant_names(schema)]
    return "\n".join([*lines, "    }", ""])


def constant_names(schema: Schema) -> list[str]:
    names = [constant.name for constant in schema.constants if isinstance(constant.value, int)]
    for struct in schema.structs:
        names.append(f"{upper(struct.name)}_LENGTH")
        names += [f"{upper(struct.name)}_{field.name.upper()}_OFFSET" for field in struct.fields]
    return names + [f"{upper(enum.name)}_{value.name}" for enum in schema.enums for value in enum.values]


@pytest.fixture(scope="module")
def native(project: Project, compile_cython: Callable[[str, str, Path], ModuleType]) -> ModuleType:
    return compile_cython("accessor_probe", probe_source(project), GENERATED)


def structs(project: Project) -> list[tuple[Schema, Struct]]:
    return [(schema, struct) for schema in project.schemas for struct in schema.structs]


def as_numbers(value: Any) -> Any:
    return tuple(value) if isinstance(value, bytes | memoryview | np.ndarray) else value


def flyweight(schema: Schema, struct: Struct, kind: str) -> Any:
    return getattr(importlib.import_module(f"aerowire.codecs.flyweights.{schema.package}"), f"{struct.name}{kind}")


def dtype_of(schema: Schema, struct: Struct) -> np.dtype[np.void]:
    module = importlib.import_module(f"aerowire.codecs.dtypes.{schema.package}")
    name = upper(struct.name)
    found: np.dtype[np.void] = getattr(module, f"{name}_FULL" if struct.tail_fields else name)
    return found


def written_by_setters(schema: Schema, struct: Struct, values: dict[str, Any]) -> bytearray:
    data = bytearray(struct.full_length)
    encoder = flyweight(schema, struct, "Encoder")(data)
    for field in struct.fields:
        setattr(encoder, field.name, values[field.name])
    return data


def test_native_accessors_write_what_flyweights_write(project: Project, native: ModuleType, draw: Draw) -> None:
    for schema, struct in structs(project):
        for _ in range(ROUNDS):
            values = {name: value for name, value in draw(struct).items() if name not in {one.name for one in struct.fixed_variants}}
            data = bytearray(struct.full_length)
            getattr(native, f"{schema.package}_write_{snake(struct.name)}")(data, values)
            assert data == written_by_setters(schema, struct, values), struct.name


def test_native_accessors_read_what_flyweights_read(project: Project, native: ModuleType, draw: Draw) -> None:
    for schema, struct in structs(project):
        values = draw(struct)
        data = written_by_setters(schema, struct, values)
        if struct.length_member is not None:  # tail fields count as there only when the struct says that it is long enough
            setattr(flyweight(schema, struct, "Encoder")(data), struct.length_member.name, len(data))
        decoder = flyweight(schema, struct, "Decoder")(data)
        found = getattr(native, f"{schema.package}_read_{snake(struct.name)}")(data)
        assert found == {field.name: as_numbers(getattr(decoder, field.name)) for field in struct.fields}, struct.name


def test_numpy_reads_what_flyweights_write(project: Project, draw: Draw) -> None:
    for schema, struct in structs(project):
        values = draw(struct)
        record = np.frombuffer(written_by_setters(schema, struct, values), dtype_of(schema, struct))[0]
        for field in struct.fields:
            found = record[field.name]
            assert (tuple(found) if field.count else found) == as_numbers(values[field.name]), f"{struct.name}.{field.name}"


def test_numpy_writes_what_flyweights_write(project: Project, draw: Draw) -> None:
    for schema, struct in structs(project):
        values = draw(struct)
        record = np.zeros(1, dtype_of(schema, struct))
        for field in struct.fields:
            record[0][field.name] = tuple(values[field.name]) if field.count else values[field.name]
        assert record.tobytes() == written_by_setters(schema, struct, values), struct.name


def test_encode_writes_what_setters_write(project: Project, draw: Draw) -> None:
    for schema, struct in structs(project):
        values = draw(struct)
        variants = {one.name: values[one.name] for one in struct.fixed_variants}
        expected = written_by_setters(schema, struct, values)
        for variant in struct.fixed_variants:
            start = variant.offset or 0
            expected[start : start + (variant.length or 0)] = variants[variant.name]
        for member in struct.dynamic:
            if isinstance(member, Repeat) and member.count is not None:
                values[member.name] = [bytes(schema.struct(member.struct).length)] * member.count
        assert flyweight(schema, struct, "Encoder").encode(**values)[: len(expected)] == expected, struct.name


def test_itemsize_of_a_dtype_is_the_fixed_length(project: Project) -> None:
    for schema, struct in structs(project):
        module = importlib.import_module(f"aerowire.codecs.dtypes.{schema.package}")
        assert getattr(module, upper(struct.name)).itemsize == struct.length == flyweight(schema, struct, "Decoder").ENCODED_LENGTH


def test_native_constants_are_those_of_the_flyweights(project: Project, native: ModuleType) -> None:
    found = native.constants()
    for schema in project.schemas:
        module = importlib.import_module(f"aerowire.codecs.flyweights.{schema.package}")
        for constant in schema.constants:
            if isinstance(constant.value, int):
                assert found[constant.name] == getattr(module, constant.name) == constant.value
        for struct in schema.structs:
            decoder = getattr(module, f"{struct.name}Decoder")
            assert found[f"{upper(struct.name)}_LENGTH"] == decoder.ENCODED_LENGTH
            for field in struct.fields:
                name = f"{field.name.upper()}_OFFSET"
                assert found[f"{upper(struct.name)}_{name}"] == getattr(decoder, name) == field.offset
        for enum in schema.enums:
            for member in getattr(module, enum.name):
                assert found[f"{upper(enum.name)}_{member.name}"] == member.value


def test_scapy_layers_build_and_dissect_what_flyweights_write(project: Project, draw: Draw) -> None:
    (transport,) = (schema for schema in project.schemas if schema.package == "transport")
    for name in dict.fromkeys(case.struct for case in transport.variants[0].cases):
        struct = transport.struct(name or "")
        for _ in range(ROUNDS):
            values = draw(struct) | {"type": struct.type_value, "frame_length": struct.full_length}
            values |= {"error_length": 0} if name == "ErrorFrame" else {}
            data = bytes(written_by_setters(transport, struct, values))
            layer = getattr(layers, struct.name)
            assert bytes(layer(**values)) == data, name
            dissected = layers.FrameHeader(data)
            assert type(dissected) is layer
            assert {key: int(dissected.getfieldval(key)) for key in values} == values
            dissected.raw_packet_cache = None
            assert bytes(dissected) == data
