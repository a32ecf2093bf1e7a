"""A row of values for `struct`: a block, what stands in front of it and behind it, in one format."""

from __future__ import annotations

from dataclasses import dataclass, field


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
