"""Composites whose members are all null: the table of their nulls, the test in the quick way, and the record that is written for None."""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.text import INDENT, literal, number
from aerowire.codegen.sbe.flyweights.values import Owner, Value, is_nan
from aerowire.codegen.sbe.ir import Composite, EncodedType, Enum
from aerowire.codegen.sbe.naming import null_member_name

LINE = 110  # characters of a line of the quick way


def stored(module: Module, composite: Owner) -> list[Value]:
    """The members that take bytes, and so can be null."""
    return [value for value in module.model.values(composite) if value.size]


def define_nulls(module: Module, stem: str, composite: Owner) -> str:
    """Define the table of the members' nulls, None for a composite within; returns its name."""
    items = [f"({literal(value.name)}, {null_expression(value)})" for value in stored(module, composite)]
    return module.define(f"_{stem}_NULLS", f"({''.join(f'{one}, ' for one in items).rstrip(' ' if len(items) == 1 else ', ')})")


def define_null_record(module: Module, value: Value) -> str:
    """Define the record whose members are all null; returns its name."""
    return module.define(f"_NONE_{value.class_name}", _null_record(module, value))


def _null_record(module: Module, value: Value) -> str:
    kind = module.use_class(value.class_name, "composites")
    assert isinstance(value.type, Composite)
    arguments = [f"{one.name}={_null_member(module, one)}" for one in module.model.values(value.type) if not one.is_constant]
    return f"{kind}({', '.join(arguments)})"


def _null_member(module: Module, value: Value) -> str:
    if value.is_composite:
        return _null_record(module, value)
    if value.kind in {"enum", "flags"}:
        return f"{module.use_class(value.class_name, 'enums')}({null_expression(value)})"
    return null_expression(value)


def null_expression(value: Value) -> str:
    """The null value as an expression, as Python sees it."""
    if value.is_composite:
        return "None"
    if value.kind == "text":
        return '""'
    if value.kind == "flags":
        return "0"
    if value.kind == "char":
        return literal(chr(int(value.null)))
    one = number(value.null)
    if value.kind == "numbers":
        assert isinstance(value.type, EncodedType)
        return f"({one},) * {value.type.length}"
    return one


def none_if(conditions: list[str], target: str) -> list[str]:
    """The statement that puts None where the members of a composite are all null."""
    line = f"if {' and '.join(conditions)}:"
    inside = [f"{INDENT}{'and ' if index else ''}{one}" for index, one in enumerate(conditions)]
    return [*([line] if len(line) <= LINE else ["if (", *inside, "):"]), f"{INDENT}{target} = None"]


def null_condition(module: Module, value: Value, given: str) -> str:
    """Whether a member that was read, no composite, is null."""
    if value.is_optional and not (isinstance(value.type, Enum) and null_member_name(value.type) is None):
        return f"{given} is None"
    if value.kind == "text":
        return f'{given} == ""'
    if value.kind == "numbers" and is_nan(value.null):
        return f"all(map({module.use('_isnan')}, {given}))"
    if value.kind == "number" and is_nan(value.null):
        return f"{module.use('_isnan')}({given})"
    return f"{given} == {null_expression(value)}"
