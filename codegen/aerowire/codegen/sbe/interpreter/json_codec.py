"""Messages of a schema to JSON objects and back.

An object has the shape of the official printer's.  Keys of ours are added only where that does not tell all: `_template` where the
keys fit several messages, `_header` for numbers of the header that are not the schema's own, `_rest` for bytes behind the message,
and within blocks `_padding`, `NAME$raw` and `NAME$header`.
"""

from __future__ import annotations

from typing import Any

from aerowire.codegen.problems import listed
from aerowire.codegen.sbe.interpreter.codec import Buffer, Envelope, Framed, MessagePlans, as_view
from aerowire.codegen.sbe.interpreter.cursor import Cursor
from aerowire.codegen.sbe.interpreter.errors import MessageError, shown
from aerowire.codegen.sbe.interpreter.heads import split_head
from aerowire.codegen.sbe.interpreter.json_forms import JsonForms, hex_of
from aerowire.codegen.sbe.interpreter.names import free_name
from aerowire.codegen.sbe.interpreter.shapes import Shape, Shapes
from aerowire.codegen.sbe.ir import HEADER_NUMBERS, MessageSchema

TEMPLATE, HEADER, REST = "_template", "_header", "_rest"


class JsonCodec:
    """Reads messages to what `json.dumps` prints, and writes what `json.loads` gives.

    With `names`, `_template` is in every object.
    """

    def __init__(self, schema: MessageSchema, *, names: bool = False) -> None:
        self.schema = schema
        self._envelope = Envelope(schema, JsonForms())
        taken = {one.name for message in schema.messages for one in (*message.fields, *message.groups, *message.data)}
        self.template_key, self.header_key, self.rest_key = (free_name(key, taken) for key in (TEMPLATE, HEADER, REST))
        self._own_keys = frozenset((self.template_key, self.header_key, self.rest_key))
        self._shapes = Shapes(_shape(plans) for plans in self._envelope.by_id.values())
        self._named = frozenset(self._envelope.by_name) if names else self._shapes.ambiguous

    def decode(self, buffer: Buffer, offset: int = 0) -> tuple[dict[str, object], int]:
        """Read the message whose header is at `offset`; returns its object and its length, header included.  Raises MessageError."""
        view = as_view(buffer)
        cursor = Cursor(view, offset, len(view))
        framed = self._envelope.open(cursor)
        values = self._envelope.read(cursor, framed)
        message = framed.plans.message
        if message.name in self._named:
            values = {self.template_key: message.name, **values}
        header = self._header_of(framed)
        if header:
            values[self.header_key] = header
        return values, cursor.position - offset

    @property
    def header_size(self) -> int:
        """Bytes of the header in front of each message."""
        return self._envelope.header.size

    def unknown_length(self, buffer: Buffer, offset: int) -> int | None:
        """How long header and block of a message are of which the schema has the id only; 0 if it has the message, None if neither."""
        view, head = as_view(buffer), self._envelope.header
        block_length, template_id, schema_id, _ = head.numbers(head.read(Cursor(view, offset, len(view))))
        if schema_id != self._envelope.schema_id:
            return None
        return 0 if template_id in self._envelope.by_id else head.size + max(block_length, 0)

    def decode_whole(self, buffer: Buffer) -> dict[str, object]:
        """Read a message that is alone in its buffer; what follows it, as of a newer version, is kept as `_rest`."""
        values, length = self.decode(buffer)
        rest = as_view(buffer)[length:]
        if len(rest):
            values[self.rest_key] = rest.hex()
        return values

    def _header_of(self, framed: Framed) -> dict[str, object]:
        header: dict[str, object] = {}
        if framed.version != self._envelope.version:
            header["version"] = framed.version
        if framed.block_length != framed.plans.block_length:
            header["blockLength"] = framed.block_length
        return header | self._envelope.header.more(framed.header)

    def encode(self, values: Any) -> bytes:
        """The bytes of an object.  Raises MessageError."""
        try:
            return self._encode(values)
        except RecursionError:  # no message of a schema is nested as deep as Python's stack
            raise MessageError("is nested too deep") from None

    def _encode(self, values: Any) -> bytes:
        if not isinstance(values, dict):
            raise MessageError("is of the wrong kind", expected="an object", actual=shown(values))
        own = {key: values[key] for key in self._own_keys & values.keys()}
        if own:
            values = {key: value for key, value in values.items() if key not in own}
        plans = self._plans_of(own[self.template_key]) if self.template_key in own else None
        if plans is None:
            plans = self._envelope.by_name[self._shapes.find(values)]
        numbers, more = split_head(own.get(self.header_key), HEADER_NUMBERS, self.header_key)
        out = self._envelope.write(plans, values, numbers, more)
        if self.rest_key in own:
            try:
                out += hex_of(None)(own[self.rest_key])
            except MessageError as error:
                raise error.within(self.rest_key) from None
        return bytes(out)

    def _plans_of(self, template: object) -> MessagePlans:
        plans: MessagePlans | None = None
        if isinstance(template, str):
            plans = self._envelope.by_name.get(template)
        elif type(template) is int:
            plans = self._envelope.by_id.get(template)
        if plans is None:
            there = listed(self._envelope.by_name)
            raise MessageError("there is no such message", expected=f"one of {there}", actual=shown(template)).within(self.template_key)
        return plans


def _shape(plans: MessagePlans) -> Shape:
    latest, first = plans.at(1 << 63), plans.at(0)
    return Shape(plans.message.name, frozenset(latest.names), frozenset(first.required & latest.required), frozenset(latest.extra_names))
