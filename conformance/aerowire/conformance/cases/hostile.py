"""What cases about malformed datagrams share: making them, and seeing that a driver still works behind them."""

from __future__ import annotations

from collections.abc import Callable

from aerowire.codecs.flyweights.transport import FrameHeaderEncoder
from aerowire.conformance.harness.bench import CONDUCTOR_MS, Bench, Sink, Source
from aerowire.conformance.model import Finding

# The release whose drivers look at every frame of a datagram before they act on it.
VALIDATION = "1.53"


def expect_both_work(bench: Bench, source: Source, sink: Sink) -> None:
    """Check that the driver is alive and that both endpoints still do their work."""
    source.send_data(0, b"well-formed")
    source.expect_elicit(within_ms=CONDUCTOR_MS)
    sink.connect()
    check_alive(bench)


def check_alive(bench: Bench) -> None:
    """Check that the driver gives signs of life."""
    if not bench.client.is_driver_alive():
        raise Finding("a driver that gives signs of life", "its heartbeat stands still")


def edited(datagram: bytes, encoder: Callable[[bytearray], object] = FrameHeaderEncoder, **fields: int) -> bytes:
    """Return a datagram with fields of its first frame changed, those of the common header by default."""
    changed = bytearray(datagram)
    frame = encoder(changed)
    for name, value in fields.items():
        setattr(frame, name, value)
    return bytes(changed)


def cut(datagram: bytes, length: int) -> bytes:
    """Return the first bytes of a frame, whose header declares no more than these."""
    return edited(datagram[:length], frame_length=length)
