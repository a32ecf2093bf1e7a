"""The JSON of a message as the official printer has it beside ours: equal by value, but for what the printer does not tell.

It prints a uint64 above 2**63 as a negative number, `null` as the name of every value that an enum does not have, and of the text of an
array only what stands before the first character that is no ASCII.
"""

from __future__ import annotations

import struct
from typing import Any

from tests.support.sbe.schemas import Block, Composite, Encoded, Enum, FlagSet, Type, living


def json_difference(block: Block, theirs: dict[str, Any], ours: dict[str, Any], version: int) -> str | None:
    """Say where the two differ; None when they do not."""
    return next(iter(_block(block, theirs, ours, version)), None)


def _block(block: Block, theirs: dict[str, Any], ours: dict[str, Any], version: int) -> list[str]:
    names = [
        *(one.name for one in living(block.fields, version)),
        *(one.name for one in living(block.groups, version)),
        *(one.name for one in living(block.data, version)),
    ]
    if list(theirs) != names:
        return [f"the printer has {list(theirs)}"]
    if missing := [name for name in names if name not in ours]:
        return [f"ours lacks {missing}"]
    found = []
    for field in living(block.fields, version):
        if field.value_ref and isinstance(field.type, Enum):
            same = ours[field.name] == theirs[field.name] == field.value_ref.partition(".")[2]
        else:
            same = _is_same(field.type, theirs[field.name], ours[field.name], version)
        if not same:
            found.append(f"{field.name}: {theirs[field.name]!r} and ours {ours[field.name]!r}")
    for group in living(block.groups, version):
        entries, others = theirs[group.name], ours[group.name]
        if len(entries) != len(others):
            found.append(f"{group.name}: {len(entries)} entries and ours {len(others)}")
        for index, (one, other) in enumerate(zip(entries, others, strict=False)):
            found += [f"{group.name}[{index}].{said}" for said in _block(group, one, other, version)]
    found += [
        f"{data.name}: {theirs[data.name]!r} and ours {ours[data.name]!r}"
        for data in living(block.data, version)
        if theirs[data.name] != ours[data.name]
    ]
    return found


def _is_same(one: Type, theirs: Any, ours: Any, version: int) -> bool:
    match one:
        case Composite():
            members = list(living(one.members, version))
            return list(theirs) == [member.name for member in members] and all(
                _is_same(member.type, theirs[member.name], ours[member.name], version) for member in members
            )
        case Enum():
            named = {value.name for value in living(one.values, version)}
            return bool(theirs == ours or (theirs == "null" and ours not in named))
        case FlagSet():
            return all(ours[name] == flag for name, flag in theirs.items())
        case Encoded() if isinstance(theirs, list):
            return len(theirs) == len(ours) and all(_is_same_number(one, *pair) for pair in zip(theirs, ours, strict=True))
    return _is_same_number(one, theirs, ours)


def _is_same_number(one: Encoded, theirs: Any, ours: Any) -> bool:
    if one.primitive == "uint64" and isinstance(theirs, int):
        return bool(theirs % (1 << 64) == ours)
    if one.primitive in ("float", "double") and not isinstance(theirs, str):
        layout = "<f" if one.primitive == "float" else "<d"
        return struct.pack(layout, theirs) == struct.pack(layout, ours)
    if one.is_text and one.constant is None:
        ascii_part = "".join(ours).split("\0")[0]
        end = next((i for i, character in enumerate(ascii_part) if not character.isascii()), len(ascii_part))
        return bool(theirs == ascii_part[:end])
    if one.primitive == "char" and one.constant is not None:
        return str(theirs).rstrip("\0") == str(ours).rstrip("\0")
    return bool(theirs == ours)
