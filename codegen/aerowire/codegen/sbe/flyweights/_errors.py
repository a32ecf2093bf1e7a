"""The one exception that everything raises which is generated for a schema: codecs, columns and record batches."""

from __future__ import annotations


class SbeError(ValueError):
    """Bytes that are no valid message, or a value that cannot be written: what is wrong, where, expected and actual."""

    def __init__(self, what: str, where: str, expected: object, actual: object) -> None:
        super().__init__(f"{where}: {what}: expected {expected}, found {actual}")
        self.what = what
        self.where = where
        self.expected = expected
        self.actual = actual

    def __reduce__(self) -> tuple[type[SbeError], tuple[object, ...]]:
        return type(self), (self.what, self.where, self.expected, self.actual)
