"""Semantic versions in one integer, as they stand in catalogs, mark files and messages: major, minor and patch have a byte each.

Aeron: SemanticVersion.
"""

from __future__ import annotations

MAJOR_SHIFT, MINOR_SHIFT = 16, 8


def compose_version(major: int, minor: int, patch: int) -> int:
    """Return a version as one integer. Each part is 0 to 255."""
    for part in (major, minor, patch):
        if not 0 <= part <= 0xFF:
            raise ValueError(f"version {major}.{minor}.{patch}: each part must be 0 to 255")
    return major << MAJOR_SHIFT | minor << MINOR_SHIFT | patch


def version_parts(version: int) -> tuple[int, int, int]:
    """Return major, minor and patch."""
    return version >> MAJOR_SHIFT & 0xFF, version >> MINOR_SHIFT & 0xFF, version & 0xFF


def major_version(version: int) -> int:
    return version_parts(version)[0]


def version_text(version: int) -> str:
    """Return a version in its usual form, such as 3.1.0."""
    return ".".join(map(str, version_parts(version)))
