"""Round trips and losses of any size at any time into the cubic window."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.protocol.cubic_congestion_control import CubicCongestionControl
from tests.fuzz.fields import Fields, int32s, int64s
from tests.fuzz.target import FindingError

START_NS = 1_000_000_000
STEPS_MAX = 64


class CubicTarget:
    """Window and MTU, then steps: 0 a rebuild, 1 a loss, 2 a round trip, 3 a request of one; each lets time pass first."""

    name = "cubic"
    length_max = 320
    words = (int32s(1 << 30), int32s(2**31 - 1), int64s(2**63 - 1), int64s(-1), int64s(1_000_000_000), int64s(0))
    traced = ()

    def seeds(self) -> Iterable[bytes]:
        """Return windows of several sizes with losses and round trips."""
        for window in (131_072, 1408, 1 << 30, 2**31 - 1):
            head = b"\x07" + int32s(window, 1408) + int64s(100_000)
            yield head + b"\x10\x11\x20\x31" * 4
            yield head + b"\x02" + int64s(2**62) + b"\xf1\xf0\xf0" + b"\x02" + int64s(-1) + b"\xf3\xf0"

    def execute(self, data: bytes) -> None:
        """Run the steps; the window stays between one datagram and its limit."""
        fields = Fields(data)
        how, window_limit, mtu, rtt_ns = fields.unsigned(1), fields.signed(4), 1 + fields.unsigned(4) % 65_504, fields.signed(8)
        try:
            control = CubicCongestionControl(
                max_window_length=window_limit,
                mtu=mtu,
                now_ns=START_NS,
                initial_rtt_ns=rtt_ns,
                measure_rtt=bool(how & 1),
                tcp_mode=bool(how & 2),
            )
        except ValueError:  # a window that has no room for a datagram
            return
        now_ns = START_NS
        for _ in range(STEPS_MAX):
            if fields.is_empty:
                break
            step = fields.unsigned(1)
            now_ns += (1 << (3 * (step >> 4))) if step >> 4 else 0
            kind = step & 3
            if kind == 2:
                control.on_rtt(now_ns, fields.signed(8))
            elif kind == 3:
                control.poll_rtt_request(now_ns)
            else:
                window, _ = control.track(now_ns, loss=bool(kind))
                if not mtu <= window <= window_limit:
                    raise FindingError(f"a window of {window} bytes, where {mtu} to {window_limit} are possible")
