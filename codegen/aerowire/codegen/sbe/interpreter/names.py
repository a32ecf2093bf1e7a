"""Names of what is not in the schema but beside its values, such as `_header`: never one that the schema has."""

from __future__ import annotations

from collections.abc import Collection


def free_name(wanted: str, taken: Collection[str]) -> str:
    """The wanted name, or with underscores in front as many as it takes."""
    while wanted in taken:
        wanted = f"_{wanted}"
    return wanted
