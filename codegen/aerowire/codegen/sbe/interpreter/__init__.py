"""Messages read and written from a schema's IR, without generated code: Python values and the JSON form.

A schema is compiled once, at the first message of each kind, into `struct` formats and small closures; after that a message costs
no walk over the tree.  The independent twin of the generated flyweights, and what the commands and users' tools build on.
"""

from aerowire.codegen.sbe.interpreter.codec import DecodedMessage, MessageCodec
from aerowire.codegen.sbe.interpreter.errors import MessageError
from aerowire.codegen.sbe.interpreter.json_codec import JsonCodec
from aerowire.codegen.sbe.interpreter.values import EnumValue, SetValue

__all__ = ["DecodedMessage", "EnumValue", "JsonCodec", "MessageCodec", "MessageError", "SetValue"]
