"""From the XML of a message schema to its tree, and everything that is wrong with it.

Reading goes in steps: the file and what it includes (`xinclude`); declarations, as the official tool understands them (`types`,
`messages` and what they use); rules that look at several of them (`*_rules`); the frozen tree (`building`).
"""

from aerowire.codegen.sbe.reader.reading import (
    DEFAULT_OPTIONS,
    Reading,
    ReadOptions,
    load_message_schema,
    read_message_document,
    read_message_schema,
)

__all__ = ["DEFAULT_OPTIONS", "ReadOptions", "Reading", "load_message_schema", "read_message_document", "read_message_schema"]
