"""Commands that a driver must refuse, and with which code."""

from __future__ import annotations

from collections.abc import Callable

from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.harness.client import CommandRefused
from aerowire.conformance.model import Finding


def expect_refusal(command: Callable[[], object], what: str, *codes: ErrorCode) -> None:
    """Check that a command is refused, and with one of `codes` where they are given."""
    try:
        command()
    except CommandRefused as refusal:
        if codes and refusal.code not in codes:
            wanted = " or ".join(f"{int(code)}" for code in codes)
            raise Finding(f"error code {wanted} for {what}", f"error code {refusal.code}") from None
        return
    raise Finding(f"{what} refused", "it was accepted")
