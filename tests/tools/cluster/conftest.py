"""Fixtures of these tests."""

from __future__ import annotations

from tests.support.snapshots import golden_clusters

__all__ = ["golden_clusters"]
