"""A rule that a world has broken."""

from __future__ import annotations


class ViolationError(Exception):
    """Raised by checkers, in any step of a world: what was expected and what was seen."""

    def __init__(self, rule: str, expected: object, saw: object, where: str) -> None:
        super().__init__(f"{rule}: at {where}: expected {expected}; saw {saw}")
        self.rule = rule
        self.expected = str(expected)
        self.saw = str(saw)
        self.where = where
