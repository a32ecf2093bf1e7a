"""Fixtures of these tests."""

from __future__ import annotations

from tests.cluster.agents.conftest import host, hosts

__all__ = ["host", "hosts"]
