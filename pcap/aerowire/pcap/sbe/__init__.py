"""SBE payloads: columns of messages, of Arrow or Spark, decoded by a user's schema, and encoded back.

    from aerowire.pcap.sbe import decode, encode
    structs = decode(table["payload"].combine_chunks(), "market.xml", message="Trade")

`decode` and `encode` are Arrow's; `sbe_decode`, `sbe_columns` and `sbe_encode` Spark's.  A schema is the path of an XML file, "archive" or
"cluster", a MessageSchema, or what `load_schema` returns.  Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.pcap.lazy_names import lazy_names

if TYPE_CHECKING:
    from aerowire.pcap.sbe.decoding import decode
    from aerowire.pcap.sbe.encoding import encode
    from aerowire.pcap.sbe.errors import SbeColumnError, SbeSchemaError
    from aerowire.pcap.sbe.schemas import Schema, load_schema
    from aerowire.pcap.sbe.spark import sbe_columns, sbe_decode, sbe_encode

__all__ = ["SbeColumnError", "SbeSchemaError", "Schema", "decode", "encode", "load_schema", "sbe_columns", "sbe_decode", "sbe_encode"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "decoding": ("decode",),
        "encoding": ("encode",),
        "errors": ("SbeColumnError", "SbeSchemaError"),
        "schemas": ("Schema", "load_schema"),
        "spark": ("sbe_columns", "sbe_decode", "sbe_encode"),
    },
)
