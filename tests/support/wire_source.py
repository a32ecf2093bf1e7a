"""One path of a stream, by hand: frames with literal fields into a network in memory, and the answers that come back."""

from __future__ import annotations

from typing import Any

from aerowire.codecs.flyweights import transport
from aerowire.simulation.network import SimulatedNetwork

INITIAL_TERM = 5
TERM = 64 * 1024
SESSION, STREAM = 77, 1001
FRAME = 64


def setup_frame(
    *, session: int = SESSION, stream: int = STREAM, offset: int = 0, term: int = INITIAL_TERM, initial: int = INITIAL_TERM
) -> bytes:
    """A SETUP frame."""
    return bytes(
        transport.SetupEncoder.encode(
            frame_length=40,
            term_offset=offset,
            session_id=session,
            stream_id=stream,
            initial_term_id=initial,
            active_term_id=term,
            term_length=TERM,
            mtu=1408,
        )
    )


def data_frame(
    offset: int, payload: bytes, *, session: int = SESSION, stream: int = STREAM, flags: int = 0xC0, frame_length: int | None = None
) -> bytes:
    """A DATA frame with its alignment; `frame_length` replaces the length that it has."""
    length = 32 + len(payload)
    header = transport.DataHeaderEncoder.encode(
        frame_length=length if frame_length is None else frame_length,
        flags=flags,
        type=transport.FrameType.DATA,
        term_offset=offset,
        session_id=session,
        stream_id=stream,
        term_id=INITIAL_TERM,
    )
    return (header[:32] + payload).ljust(-(-length // 32) * 32, b"\0")


class WireSource:
    """A sender's socket towards one address."""

    def __init__(self, network: SimulatedNetwork, to: tuple[str, int], *, host: str = "10.0.0.1", port: int = 0) -> None:
        self._port = network.open_port((host, port), to)

    def setup(self, **fields: int) -> None:
        """Send a SETUP; the arguments are those of `setup_frame`."""
        self.send(setup_frame(**fields))

    def data(self, offset: int, payload: bytes = bytes(FRAME - 32), *, session: int = SESSION, flags: int = 0xC0) -> None:
        self.send(data_frame(offset, payload, session=session, flags=flags))

    def heartbeat(self, offset: int, *, eos: bool = False, revoked: bool = False) -> None:
        self.send(data_frame(offset, b"", flags=0xC0 | 0x20 * eos | 0x10 * revoked, frame_length=0))

    def rttm(self, echo: int, *, flags: int = 0x80, receiver_id: int = 0, delta: int = 0) -> None:
        self.send(
            transport.RttmEncoder.encode(
                frame_length=40,
                flags=flags,
                session_id=SESSION,
                stream_id=STREAM,
                echo_timestamp_ns=echo,
                reception_delta_ns=delta,
                receiver_id=receiver_id,
            )
        )

    def answers(self, kind: int) -> list[Any]:
        """Return the frames of one type that came back since the last call; those of other types are lost."""
        decoders: dict[int, Any] = {
            transport.FrameType.SM: transport.StatusMessageDecoder,
            transport.FrameType.NAK: transport.NakDecoder,
            transport.FrameType.ERR: transport.ErrorFrameDecoder,
            transport.FrameType.RTTM: transport.RttmDecoder,
        }
        found = []
        while batch := self._port.receive_datagrams():
            found += [decoders[kind](payload) for payload, _, _ in batch if transport.FrameHeaderDecoder(payload).type == kind]
        return found

    def send(self, frame: bytes) -> None:
        """Send a datagram."""
        self._port.send_datagrams([(frame, None)])
