"""Group W: wildcard ports, channels, commands."""

from __future__ import annotations

from aerowire.conformance.cases.channels_and_ports import w01, w02, w03, w04, w05, w06, w15
from aerowire.conformance.cases.commands import w07, w08, w09, w10, w11, w12, w13, w14
from aerowire.conformance.model import Case

CASES: tuple[Case, ...] = (w01, w02, w03, w04, w05, w06, w07, w08, w09, w10, w11, w12, w13, w14, w15)
