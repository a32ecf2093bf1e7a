"""Datagrams of other drivers' names, hostile, into the machine that knows them."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.protocol.name_cache import ResolverAddress
from aerowire.protocol.name_gossip import GossipIntervals, NameGossip
from tests.fuzz.fields import Fields, int32s
from tests.fuzz.target import FindingError

SECOND = 1_000_000_000
INTERVALS = GossipIntervals(
    neighbor_timeout_ns=10 * SECOND, self_resolution_ns=SECOND, neighbor_resolution_ns=2 * SECOND, bootstrap_resolution_ns=5 * SECOND
)
LOCAL, OTHER = ResolverAddress(b"\x0a\0\0\1", 8050), ResolverAddress(b"\x0a\0\0\2", 8050)
STEPS_MAX = 16


class GossipTarget:
    """Datagrams, each with its length before it; half of the lengths let time pass too."""

    name = "gossip"
    length_max = 400
    words = (b"\x07\0", b"\x01\x80\x72\x1f", b"\x02\0\x72\x1f", int32s(2**31 - 1), int32s(-1), b"\xff\xff", b"name")
    traced = ("protocol/name_",)

    def seeds(self) -> Iterable[bytes]:
        """Return an announcement of IPv4, one of IPv6, and one with two names."""
        header = int32s(36) + b"\0\0\x07\0"
        four = b"\x01\x80\x72\x1f" + int32s(0) + b"\x0a\0\0\2" + b"\x04\0name" + bytes(2)
        six = b"\x02\0\x72\x1f" + int32s(5) + bytes(15) + b"\x01" + b"\x05\0other" + bytes(5)
        for entries in (four, six, four + six):
            frame = int32s(8 + len(entries)) + header[4:] + entries
            yield bytes([len(frame)]) + frame + b"\0"

    def execute(self, data: bytes) -> None:
        """Take the datagrams, look names up, and send what is due."""
        fields = Fields(data)
        now_ns = SECOND
        gossip = NameGossip("name", LOCAL, INTERVALS, mtu_length=1408, bootstrap_count=1, now_ns=now_ns)
        gossip.on_bootstrap_resolved(0, OTHER)
        for _ in range(STEPS_MAX):
            if fields.is_empty:
                break
            length = fields.unsigned(1)
            gossip.on_frame(fields.take(length), OTHER, now_ns)
            now_ns += (length & 1) * SECOND
            gossip.resolve("other")
            gossip.poll_bootstraps(now_ns)
            for payload, _ in gossip.poll_datagrams(now_ns):
                if len(payload) > 1408:
                    raise FindingError(f"a datagram of {len(payload)} bytes")
