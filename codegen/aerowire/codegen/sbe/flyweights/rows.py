"""A row of values for `struct`: a block, what stands in front of it and behind it, in one format."""

from __future__ import annotations

from dataclasses import dataclass, field

from aerowire.codegen.primitives import FORMATS
from aerowire.codegen.sbe.ir import Data, Group


@dataclass
class Row:
    """A fused block: its format and, for each of its values, where it goes or what is packed."""

    code: str = ""
    targets: list[str] = field(default_factory=list)
    size: int = 0

    def put(self, offset: int, code: str, size: int, target: str) -> None:
        """A value at an offset that is not before the end of the last."""
        self.pad(offset)
        self.code += code
        self.targets.append(target)
        self.size = offset + size

    def pad(self, until: int) -> None:
        gap = until - self.size
        self.code += f"{gap}x" if gap else ""
        self.size = until

    def put_length(self, data: Data, target: str) -> None:
        """What stands in front of data, behind what the row has."""
        start = self.size
        self.put(start + data.length_offset, FORMATS[data.length_type.primitive.name], data.length_type.size, target)
        self.pad(start + data.data_offset)

    def put_dimension(self, group: Group, block_length: str, count: str) -> None:
        """What stands in front of a group, behind what the row has; a constant has no place."""
        start, member = self.size, group.dimension.member
        numbers = [
            (start + member("blockLength").offset, group.block_length_type, block_length),
            (start + member("numInGroup").offset, group.count_type, count),
        ]
        for offset, encoded, target in sorted(numbers, key=lambda one: one[0]):
            if encoded.size:
                self.put(offset, FORMATS[encoded.primitive.name], encoded.size, target)
        self.pad(start + group.dimension.size)
