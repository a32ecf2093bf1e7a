"""The official driver's files."""

from tests.support.snapshots import snapshots

__all__ = ["snapshots"]
