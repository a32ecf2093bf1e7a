"""One concept, one name: how a schema's names are spelt in each target."""

from __future__ import annotations

import re

_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake(name: str) -> str:
    """`StatusMessage` -> `status_message`."""
    return _BOUNDARY.sub("_", name).lower()


def upper(name: str) -> str:
    """`StatusMessage` -> `STATUS_MESSAGE`."""
    return snake(name).upper()


def pascal(name: str) -> str:
    """`status_message` -> `StatusMessage`."""
    return "".join(word.capitalize() for word in name.split("_"))
