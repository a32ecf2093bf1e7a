"""The data classes of messages, entries and composites."""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.docs import class_doc
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.nulls import define_nulls
from aerowire.codegen.sbe.flyweights.part_properties import data_encoding, group_stem
from aerowire.codegen.sbe.flyweights.text import literal, mapping, spread_tuple
from aerowire.codegen.sbe.flyweights.values import Owner, Value
from aerowire.codegen.sbe.ir import Block
from aerowire.codegen.sbe.naming import property_names


def add_record(module: Module, stem: str, owner: Owner, methods: list[str]) -> None:
    """A data class for a message, an entry or a composite."""
    names = property_names(owner)
    values = module.model.values(owner)
    kinds = {value.name: _record_class(module, value) for value in values}
    lines = ["", "", f"@{module.use('_dataclass')}(slots=True, kw_only=True)", f"class {stem}({module.use('_Record')}):"]
    lines += class_doc(owner, 1, f"{owner.name} as plain values.")
    fields = [_record_field(value) for value in values if not value.is_constant]
    if isinstance(owner, Block):
        for group in owner.groups:
            entry = group_stem(module.model, stem, group)
            kinds[names[group.name]] = entry
            fields.append(f"    {names[group.name]}: list[{entry}] = {module.use('_field')}(default_factory=list)")
        for data in owner.data:
            kinds[names[data.name]] = "None"
            fields.append(f'    {names[data.name]}: {"str" if data_encoding(data) else "bytes"} = {"" if data_encoding(data) else "b"}""')
    lines.append("")
    any_name = module.use("_Any")
    lines += mapping(f"_MEMBERS: {module.use('ClassVar')}[dict[str, {any_name}]] = ", [(literal(k), v) for k, v in kinds.items()], 1)
    constants = [value for value in values if value.is_constant]
    lines += spread_tuple("_CONSTANTS: ClassVar[tuple[str, ...]] = ", [literal(value.name) for value in constants], 1)
    lines += [f"    _NULLS = {define_nulls(module, stem, owner)}"] if module.model.is_asked(owner) else []
    for value in constants:
        lines.append(f"    {value.name}: ClassVar[{value.constant_annotation}] = {module.model.constant(value)}")
    module.lines += [*lines, *fields, *methods]


def _record_class(module: Module, value: Value) -> str:
    if not value.is_composite:
        if value.class_name:
            module.use_class(value.class_name, "enums")
        return "None"
    return module.use_class(value.class_name, "composites")


def _record_field(value: Value) -> str:
    return f"    {value.name}: {value.plain_annotation}{' | None = None' if value.may_be_none else ''}"
