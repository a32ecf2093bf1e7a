"""What a field must be apart from its place: semantic type, name, and the value that a constant refers to."""

from __future__ import annotations

from aerowire.codegen.sbe.ir import Presence
from aerowire.codegen.sbe.reader.declared import DeclaredEncoding, DeclaredEnum, DeclaredField, DeclaredType
from aerowire.codegen.sbe.reader.elements import shown
from aerowire.codegen.sbe.reader.language_names import check_name
from aerowire.codegen.sbe.reader.numerals import shorten
from aerowire.codegen.sbe.reader.report import UnreadableError
from aerowire.codegen.sbe.reader.scope import Scope

VALUE_REF_FORM = "EnumName.ValueName"


def check_field(scope: Scope, field: DeclaredField, types: dict[str, DeclaredType]) -> None:
    """Report what is wrong with a field or data.  Raises UnreadableError where a valueRef cannot be followed at all."""
    report = scope.report
    type_semantics = None if field.type is None else field.type.semantic_type
    if None not in (field.semantic_type, type_semantics) and field.semantic_type != type_semantics:
        message = f"{shown(field.element)} has semanticType {field.semantic_type!r}, but its type has {type_semantics!r}"
        report.error("semantic-type-mismatch", field.element, message, "semanticType")
    check_name(scope, field.element, field.name)
    if field.value_ref is not None:
        _check_value_ref(scope, field, field.value_ref, types)
    elif isinstance(field.type, DeclaredEnum) and field.presence is Presence.CONSTANT:
        report.error("constant-without-value-ref", field.element, f"{shown(field.element)} is a constant enum without a valueRef")
    if field.value_ref is not None and field.presence is Presence.CONSTANT:
        _check_constant(scope, field, field.value_ref, types)


def _check_value_ref(scope: Scope, field: DeclaredField, value_ref: str, types: dict[str, DeclaredType]) -> None:
    report, element = scope.report, field.element
    enum_name, dot, value_name = value_ref.partition(".")
    if not dot:
        report.fault("bad-value-ref", element, f"valueRef {shorten(value_ref)!r} is not of the form {VALUE_REF_FORM}", "valueRef")
        raise UnreadableError
    if not enum_name or not value_name:
        report.error("bad-value-ref", element, f"valueRef {shorten(value_ref)!r} is not of the form {VALUE_REF_FORM}", "valueRef")
    found = types.get(enum_name)
    if found is None and scope.is_told(enum_name):
        raise UnreadableError
    if found is None:
        hint = report.suggest(enum_name, (name for name, one in types.items() if isinstance(one, DeclaredEnum)))
        report.error("unknown-enum", element, f"valueRef to unknown enum {shorten(enum_name)!r}{hint}", "valueRef")
    if not isinstance(found, DeclaredEnum):
        report.error("not-an-enum", element, f"valueRef to {shorten(enum_name)!r}, which is no enum", "valueRef")
    elif value_name not in found.told:
        hint = report.suggest(value_name, found.values)
        report.error("unknown-value", element, f"enum {enum_name!r} has no value {shorten(value_name)!r}{hint}", "valueRef")


def _check_constant(scope: Scope, field: DeclaredField, value_ref: str, types: dict[str, DeclaredType]) -> None:
    enum_name = value_ref.partition(".")[0]
    found = types.get(enum_name)
    message = ""
    if isinstance(field.type, DeclaredEnum):
        if enum_name != field.type.name:
            message = f"valueRef to enum {shorten(enum_name)!r}, but {shown(field.element)} has enum {field.type.name!r}"
    elif isinstance(field.type, DeclaredEncoding):
        if not isinstance(found, DeclaredEnum):
            raise UnreadableError  # reported by _check_value_ref
        if field.type.primitive is not found.primitive:
            kinds = f"{found.primitive.name}, but {shown(field.element)} is {field.type.primitive.name}"
            message = f"valueRef to enum {enum_name!r} of {kinds}"
    else:
        message = f"{shown(field.element)} is a constant with a valueRef, but its type is no enum and no number"
    if message:
        scope.report.error("value-ref-mismatch", field.element, message, "valueRef")
