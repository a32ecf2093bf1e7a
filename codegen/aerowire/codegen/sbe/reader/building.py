"""From checked declarations to the frozen tree that the targets render.

What the official tool accepts and then makes no sense of is refused here.
"""

from __future__ import annotations

from aerowire.codegen.sbe.ir import (
    HEADER_NUMBERS,
    ByteOrder,
    Composite,
    Data,
    EncodedType,
    Enum,
    Field,
    FlagSet,
    Group,
    Header,
    Message,
    MessageSchema,
    Number,
    Presence,
    Type,
)
from aerowire.codegen.sbe.reader.declared import (
    VARIABLE_LENGTH,
    Declared,
    DeclaredEncoding,
    DeclaredEnum,
    DeclaredField,
    DeclaredMessage,
    DeclaredSchema,
    DeclaredType,
)
from aerowire.codegen.sbe.reader.elements import shown
from aerowire.codegen.sbe.reader.report import Report, UnreadableError
from aerowire.codegen.sbe.reader.type_building import TypeBuilder, check_length, named


def build(report: Report, schema: DeclaredSchema, source: str) -> MessageSchema | None:
    """Return the tree, or None when something in it would make no sense; the report then says what."""
    builder = _Builder(report, schema)
    types = [builder.types.find(one) for one in schema.types.values() if one.element is not schema.element]
    header = builder.header(schema)
    messages = [builder.message(one) for one in schema.messages.values()]
    if report.has_errors or header is None:
        return None
    return MessageSchema(
        package=schema.package,
        source=source,
        id=schema.id,
        version=schema.version,
        semantic_version=schema.semantic_version,
        description=schema.description,
        byte_order=ByteOrder.BIG_ENDIAN if schema.byte_order == ByteOrder.BIG_ENDIAN else ByteOrder.LITTLE_ENDIAN,
        header=header,
        types=tuple(one for one in types if one is not None),
        messages=tuple(one for one in messages if one is not None),
        location=report.locate(schema.element),
    )


class _Builder:
    """Builds messages; `types` builds what they are made of."""

    def __init__(self, report: Report, schema: DeclaredSchema) -> None:
        self._report = report
        self._known = schema.known
        self.types = TypeBuilder(report)

    def header(self, schema: DeclaredSchema) -> Header | None:
        composite = self.types.find(schema.header)
        if not isinstance(composite, Composite):
            return None
        for name in HEADER_NUMBERS:
            self._check_integer(composite, name, schema)
        return Header(type=composite)

    def message(self, message: DeclaredMessage) -> Message | None:
        fields, groups, data = self._members(message.members)
        block_length = max(message.block_length, message.computed_block_length)
        check_length(self._report, message, block_length)
        return Message(
            **named(self._report, message),
            id=message.id,
            block_length=block_length,
            fields=fields,
            groups=groups,
            data=data,
        )

    def _members(self, members: list[DeclaredField]) -> tuple[tuple[Field, ...], tuple[Group, ...], tuple[Data, ...]]:
        fields: list[Field] = []
        groups: list[Group] = []
        data: list[Data] = []
        for member in members:
            try:
                if member.members is not None:
                    groups.append(self._group(member, member.members))
                elif member.is_data:
                    data.append(self._data(member))
                else:
                    fields.append(self._field(member))
            except UnreadableError:
                continue
        return tuple(fields), tuple(groups), tuple(data)

    def _group(self, group: DeclaredField, members: list[DeclaredField]) -> Group:
        dimension = self._composite(group.dimension)
        for name in ("blockLength", "numInGroup"):
            self._check_integer(dimension, name, group)
        fields, groups, data = self._members(members)
        check_length(self._report, group, group.computed_block_length)
        return Group(
            **named(self._report, group),
            id=group.id or 0,
            block_length=group.computed_block_length,
            dimension=dimension,
            fields=fields,
            groups=groups,
            data=data,
        )

    def _data(self, data: DeclaredField) -> Data:
        composite = self._composite(data.type)
        self._check_integer(composite, "length", data)
        return Data(**named(self._report, data), id=data.id or 0, type=composite)

    def _composite(self, declared: DeclaredType | None) -> Composite:
        built = None if declared is None else self.types.find(declared)
        if not isinstance(built, Composite):
            raise UnreadableError
        return built

    def _check_integer(self, composite: Composite, name: str, user: Declared) -> None:
        """A length, count or id must be one number."""
        member = next((one for one in composite.members if one.name == name), None)
        if member is None:
            return  # told already
        found = member.type
        is_number = isinstance(found, EncodedType) and not found.primitive.is_float and found.primitive.name != "char" and found.length == 1
        if not is_number:
            self._refuse(user, "bad-member", f"composite {composite.name!r} of {shown(user.element)}: {name} is not one integer")

    def _field(self, field: DeclaredField) -> Field:
        built = None if field.type is None else self.types.find(field.type)
        if field.type is None or built is None:
            raise UnreadableError
        presence = field.presence
        is_negative = isinstance(field.type, DeclaredEncoding) and field.type.length < 0  # told as such
        if field.type.encoded_length == VARIABLE_LENGTH and not is_negative:
            self._refuse(field, "variable-field", f"{shown(field.element)} has a type of variable length; declare it as data")
        if presence is Presence.CONSTANT and isinstance(built, Composite | FlagSet):
            if built.size:
                self._refuse(field, "bad-constant", f"{shown(field.element)} is constant, but its type {built.name!r} takes bytes")
            presence = Presence.REQUIRED
        given = named(self._report, field)
        given["since_version"] = max(field.since_version, field.type.since_version)
        return Field(
            **given,
            id=field.id or 0,
            type=built,
            offset=field.computed_offset,
            presence=presence,
            constant=self._constant(field, built) if presence is Presence.CONSTANT else None,
            value_ref=field.value_ref or "",
            epoch=field.epoch,
            time_unit=field.time_unit,
        )

    def _constant(self, field: DeclaredField, built: Type) -> Number | str | None:
        if field.value_ref is not None:
            return self._referenced(field.value_ref, built)
        if isinstance(built, EncodedType) and built.constant is not None:
            return built.constant
        self._refuse(field, "constant-without-data", f"{shown(field.element)} is constant, but its type {built.name!r} has no constant")
        return None

    def _referenced(self, value_ref: str, built: Type) -> Number | str | None:
        enum_name, _, value_name = value_ref.partition(".")
        enum = self._known.get(enum_name)
        if isinstance(built, Enum):
            return value_name
        if not isinstance(enum, DeclaredEnum) or value_name not in enum.values:
            return None
        return enum.constant(value_name)

    def _refuse(self, declared: Declared, rule: str, message: str) -> None:
        self._report.fault(rule, declared.element, message)
