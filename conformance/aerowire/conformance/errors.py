"""Errors of the suite that a user can mend: wrong input, a driver that cannot be started or reached."""

from __future__ import annotations


class ConformanceError(Exception):
    """Root of them; the command prints the message and exits with 2."""
