"""Group B: how a sender introduces its stream, and what status messages do to it."""

from __future__ import annotations

from aerowire.conformance.cases.setup_sender_introduction import b01, b02, b03, b04, b05, b06, b07, b08, b09, b10
from aerowire.conformance.cases.setup_sender_status import b11, b12, b13, b14, b15, b16, b17, b18, b19, b20, b21, b22, b23
from aerowire.conformance.model import Case

CASES: tuple[Case, ...] = (
    b01,
    b02,
    b03,
    b04,
    b05,
    b06,
    b07,
    b08,
    b09,
    b10,
    b11,
    b12,
    b13,
    b14,
    b15,
    b16,
    b17,
    b18,
    b19,
    b20,
    b21,
    b22,
    b23,
)
