"""The module of a schema's enums and sets."""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.docs import class_doc
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.values import Model
from aerowire.codegen.sbe.ir import Enum, FlagSet
from aerowire.codegen.sbe.naming import enum_member_names, null_member_name, types_with_class


def enums_module(model: Model) -> str:
    """All of them in one module; each keeps values that the schema does not name."""
    module = Module(model, 1, "Enums and sets.")
    for one in types_with_class(model.schema):
        if isinstance(one, Enum):
            _add_enum(module, one)
        elif isinstance(one, FlagSet):
            _add_set(module, one)
    return module.text()


def _add_enum(module: Module, enum: Enum) -> None:
    name = module.model.names.types[enum]
    names = enum_member_names(enum)
    lines = ["", "", f"class {name}({module.use('_OpenEnum')}):", *class_doc(enum, 1, f"{name}."), ""]
    for value in enum.values:
        lines += [f"    {names[value.name]} = {value.value}", *class_doc(value, 1, "")]
    null = null_member_name(enum)
    if null is not None:
        lines += [f"    {null} = {enum.null}"]
    primitive = enum.primitive
    least, greatest = (0, 255) if primitive.name == "char" else (primitive.minimum, primitive.maximum)
    lines += ["", "    @classmethod", f"    def _missing_(cls, value: object) -> {name} | None:"]
    lines.append(f"        return {module.use('_unknown')}(cls, value, {least}, {greatest})")
    module.lines += lines


def _add_set(module: Module, flags: FlagSet) -> None:
    names = enum_member_names(flags)
    name = module.model.names.types[flags]
    lines = ["", "", f"class {name}({module.use('_OpenFlag')}):", *class_doc(flags, 1, f"{name}."), ""]
    for choice in flags.choices:
        lines += [f"    {names[choice.name]} = {1 << choice.bit}", *class_doc(choice, 1, "")]
    # A class without members cannot be called, by its own operators neither.
    module.lines += lines if flags.choices else [*lines, "    NONE = 0"]
