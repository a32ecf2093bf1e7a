"""Offsets of the fields of a block, and whether they and its length fit.  The rules are the official tool's, oddities included."""

from __future__ import annotations

from lxml import etree

from aerowire.codegen.sbe.ir import Presence
from aerowire.codegen.sbe.reader.declared import VARIABLE_LENGTH, DeclaredField, DeclaredMessage
from aerowire.codegen.sbe.reader.elements import shown
from aerowire.codegen.sbe.reader.report import Report


def check_blocks(report: Report, message: DeclaredMessage) -> None:
    """Compute every offset and block length of a message, and report what does not fit."""
    _place(report, message.members, message.block_length)
    message.computed_block_length = root_block_length(message.members)
    _check_length(report, message.element, message.block_length, message.computed_block_length)


def _place(report: Report, fields: list[DeclaredField], block_length: int) -> int:
    """Give the fields of a block, and of the groups in it, their offsets; return where the block ends."""
    is_variable = False
    offset = 0
    for field in fields:
        if field.offset != 0 and field.offset < offset:
            message = f"{shown(field.element)} has offset {field.offset}, but what precedes it takes {offset} bytes"
            report.error("bad-offset", field.element, message, "offset")
        if offset != VARIABLE_LENGTH:
            if field.offset != 0:
                offset = field.offset
            elif (field.dimension is not None or field.is_data) and block_length != 0:
                offset = block_length
        field.computed_offset = VARIABLE_LENGTH if is_variable else offset
        if field.members is not None:
            length = _place(report, field.members, 0)
            _check_length(report, field.element, field.block_length, length)
            field.computed_block_length = max(field.block_length, length)
            is_variable = True
        elif field.type is not None and field.presence is not Presence.CONSTANT:
            size = field.type.encoded_length
            if size == VARIABLE_LENGTH:
                is_variable = True
            else:
                field.computed_block_length = size
            if not is_variable:
                offset += size
    return offset


def root_block_length(fields: list[DeclaredField]) -> int:
    """Where the last fixed field of a message ends."""
    length = 0
    for field in fields:
        if field.members is not None:
            return length
        if field.type is not None:
            size = field.type.encoded_length
            if size == VARIABLE_LENGTH:
                return length
            length = field.computed_offset + (0 if field.presence is Presence.CONSTANT else size)
    return length


def _check_length(report: Report, element: etree._Element, specified: int, computed: int) -> None:
    if specified != 0 and computed > specified:
        message = f"blockLength of {shown(element)} is {specified}, but its fields take {computed} bytes"
        report.error("block-too-short", element, message, "blockLength")
