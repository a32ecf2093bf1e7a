"""Messages of a schema to Python values and back."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple

from aerowire.codegen.problems import listed
from aerowire.codegen.sbe.interpreter.cursor import Cursor
from aerowire.codegen.sbe.interpreter.errors import MessageError, shown
from aerowire.codegen.sbe.interpreter.heads import Head
from aerowire.codegen.sbe.interpreter.leaf import Forms
from aerowire.codegen.sbe.interpreter.plan import BlockPlan
from aerowire.codegen.sbe.interpreter.section import Slots
from aerowire.codegen.sbe.interpreter.values import ValueForms
from aerowire.codegen.sbe.ir import HEADER_NUMBERS, Message, MessageSchema, versions_of, walk_blocks

TEMPLATE_ID, SCHEMA_ID = 1, 2
PLANS_MAX = 64  # of a message; a stream has a few versions, and a plan has all fields of the schema

Buffer = bytes | bytearray | memoryview


class MessagePlans:
    """The plans of a message, one for each range of acting versions that it makes a difference to."""

    def __init__(self, forms: Forms, schema: MessageSchema, message: Message, block_length: int) -> None:
        """`block_length` is what its header has unless told."""
        self.message = message
        self.block_length = block_length
        self._forms, self._order = forms, schema.byte_order
        self._versions = sorted({0, *_versions(message)})
        self._plan = functools.lru_cache(PLANS_MAX)(self._compile)

    def at(self, version: int) -> BlockPlan:
        """The plan of an acting version; one newer than the schema, as a negative one is, is read as the schema's."""
        return self._plan(self._versions[bisect_right(self._versions, version) - 1])

    def _compile(self, version: int) -> BlockPlan:
        return BlockPlan(self._forms, self._order, version, self.message)


def _versions(message: Message) -> set[int]:
    found: set[int] = set()
    for block in walk_blocks(message):
        found.update(one.since_version for one in (*block.fields, *block.groups, *block.data))
        found.update(version for field in block.fields for version in versions_of(field.type))
    return found


class Framed(NamedTuple):
    """A message's place in a buffer: its plans, its header's slots and numbers, and where its block starts."""

    plans: MessagePlans
    header: Slots
    block_length: int
    version: int


class Envelope:
    """The header of a schema's messages, and their plans, for one form of values."""

    def __init__(self, schema: MessageSchema, forms: Forms) -> None:
        self.schema = schema
        self.header = Head(forms, schema.byte_order, schema.version, schema.header.type, HEADER_NUMBERS, schema.header.size)
        self.by_id: dict[int, MessagePlans] = {
            one.id: MessagePlans(forms, schema, one, self.own("blockLength", one.block_length)) for one in schema.messages
        }
        self.schema_id = schema.told_id
        self.version = self.own("version", schema.version)
        self.by_name = {plans.message.name: plans for plans in self.by_id.values()}

    def open(self, cursor: Cursor) -> Framed:
        """Read the header; raises for another schema's message and for an unknown one."""
        start = cursor.position
        slots = self.header.read(cursor)
        block_length, template_id, schema_id, version = self.header.numbers(slots)
        plans = self.by_id.get(template_id)
        if schema_id != self.schema_id:
            error = MessageError("a message of another schema", expected=f"schemaId {self.schema_id}", actual=schema_id, offset=start)
        elif plans is None:
            expected = "the templateId of one of its messages"
            error = MessageError("a message that the schema does not have", expected=expected, actual=template_id, offset=start)
        else:
            return Framed(plans, slots, block_length, version)
        error.block_end = cursor.position + max(block_length, 0)
        raise error

    def read(self, cursor: Cursor, framed: Framed) -> dict[str, object]:
        """Read what follows the header."""
        message = framed.plans.message
        start = cursor.position
        try:
            return framed.plans.at(framed.version).read(cursor, framed.block_length)
        except MessageError as error:
            if error.offset is None:
                error.offset = cursor.position
            if not error.path and error.needed is None:
                error.block_end = start + max(framed.block_length, 0)
            raise error.within(message.name) from None

    def write(self, plans: MessagePlans, values: Mapping[str, Any], numbers: Mapping[str, int], more: Mapping[str, Any]) -> bytearray:
        """A whole message.  `numbers` are those of the header that are not the schema's own, `more` its other members."""
        message = plans.message
        version = numbers.get("version", self.version)
        block_length = numbers.get("blockLength", plans.block_length)
        head = (block_length, numbers.get("templateId", message.id), numbers.get("schemaId", self.schema_id), version)
        if head[TEMPLATE_ID] != message.id or head[SCHEMA_ID] != self.schema_id:
            raise MessageError(
                "the header is another message's", expected=f"templateId {message.id} of schema {self.schema_id}", actual=head[1:3]
            )
        try:
            out = bytearray(self.header.write(head, more))
        except MessageError as error:
            raise error.within("_header") from None
        try:
            plans.at(version).write(values, block_length, out)
        except MessageError as error:
            raise error.within(message.name) from None
        return out

    def own(self, role: str, number: int) -> int:
        """What a number of the header is unless told: `number`, or what the header has as a constant."""
        constant = self.schema.header.encoded(role).constant
        return number if constant is None else int(constant)


def as_view(buffer: Buffer) -> memoryview:
    """The bytes of any buffer."""
    try:
        view = memoryview(buffer)
    except ValueError:
        raise MessageError("the buffer is released", expected="a buffer in use", actual=shown(buffer)) from None
    if not view.c_contiguous:
        raise MessageError(
            "the bytes of the buffer are not side by side", expected="a contiguous buffer", actual=f"strides of {view.strides}"
        )
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def _number(role: str, value: object) -> int:
    """A number of the header that was given; its range is checked where it is written."""
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise MessageError("is of the wrong kind", expected="a number", actual=shown(value)).within(role).within("_header") from None


@dataclass(frozen=True, slots=True)
class DecodedMessage:
    """A message as Python values, by the schema's names: groups are lists of dicts, composites dicts, None is null or not there.

    `header` has every member of the message header; `length` is how many bytes header and message take.
    """

    message: Message
    header: dict[str, object]
    values: dict[str, object]
    length: int


class MessageCodec:
    """Reads and writes the messages of a schema.  Changed by nothing but what it compiles at first use."""

    def __init__(self, schema: MessageSchema) -> None:
        self.schema = schema
        self._envelope = Envelope(schema, ValueForms())

    def decode(self, buffer: Buffer, offset: int = 0) -> DecodedMessage:
        """Read the message whose header is at `offset`; bytes behind it are left alone.  Raises MessageError."""
        if offset < 0:
            raise MessageError("there is no message before the start of the buffer", expected="an offset of at least 0", actual=offset)
        view = as_view(buffer)
        cursor = Cursor(view, offset, len(view))
        framed = self._envelope.open(cursor)
        values = self._envelope.read(cursor, framed)
        header = self._envelope.header.all_values(framed.header)
        return DecodedMessage(framed.plans.message, header, values, cursor.position - offset)

    def encode(self, template: str | int, values: Mapping[str, Any], header: Mapping[str, Any] | None = None) -> bytes:
        """The bytes of a message by name or template id.  `header` has what is not to be the schema's own: blockLength, version, others.

        Raises MessageError.
        """
        envelope = self._envelope
        plans = envelope.by_name.get(template) if isinstance(template, str) else envelope.by_id.get(template)
        if plans is None:
            there = listed([f"{one.name} ({one.id})" for one in self.schema.messages])
            raise MessageError("there is no such message", expected=f"one of {there}", actual=shown(template))
        given = dict(header or {})
        numbers = {role: _number(role, given.pop(role)) for role in HEADER_NUMBERS if role in given}
        return bytes(envelope.write(plans, values, numbers, given))
