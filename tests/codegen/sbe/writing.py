"""Small message schemas for tests: a header, dimensions, text of any length, and what the test adds."""

from __future__ import annotations

HEADER = """<types><composite name="messageHeader">
<type name="blockLength" primitiveType="uint16"/><type name="templateId" primitiveType="uint16"/>
<type name="schemaId" primitiveType="uint16"/><type name="version" primitiveType="uint16"/>
</composite>
<composite name="groupSizeEncoding">
<type name="blockLength" primitiveType="uint16"/><type name="numInGroup" primitiveType="uint16"/>
</composite></types>"""


def schema(types: str, messages: str, attributes: str = "") -> str:
    """Return a schema; `attributes` are more of its root's."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" package="own" id="1" {attributes}>
{HEADER}
<types>
<composite name="varString">
<type name="length" primitiveType="uint16"/><type name="varData" primitiveType="uint8" length="0" characterEncoding="UTF-8"/>
</composite>
{types}
</types>
{messages}
</sbe:messageSchema>
"""
