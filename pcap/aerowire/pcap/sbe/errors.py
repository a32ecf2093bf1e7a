"""What can be wrong with a schema, and with a row of a column."""

from __future__ import annotations


class SbeSchemaError(ValueError):
    """A schema cannot be used, or does not have what was asked of it: the message says which, what was expected and what was found."""


class SbeColumnError(ValueError):
    """A row is no message of the schema, or a value that no message can hold.  `row` counts from 0 within the array it was found in."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(f"row {row}: {reason}")
        self.row = row
        self.reason = reason

    def __reduce__(self) -> tuple[type[SbeColumnError], tuple[int, str]]:
        return type(self), (self.row, self.reason)
