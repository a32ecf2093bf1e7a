"""The streams of a capture, as their SETUPs introduce them; knows when ids name another stream than before."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder, FrameType, SetupDecoder
from aerowire.conformance.harness.capture import Address
from aerowire.conformance.rules import is_heartbeat, is_valid_frame, is_valid_setup
from aerowire.conformance.verdicts.packets import Key, Packet, Stream, control_of

# A live sender is never silent for as long: whatever has its ids afterwards may be another stream.
SILENCE_NS = 1_000_000_000


@dataclass(slots=True)
class _Life:
    """How far a sender has come with a stream."""

    stream: Stream
    last_ns: int
    position: int
    is_ended: bool = False


class _Finder:
    def __init__(self) -> None:
        self.streams: dict[Key, list[Stream]] = {}
        self._lives: dict[tuple[Key, Address], _Life] = {}

    def on_setup(self, packet: Packet) -> None:
        """A SETUP: it introduces a stream, is one more of a stream that is known, or begins another with the same ids."""
        setup = SetupDecoder(packet.payload)
        if not is_valid_setup(setup):
            return
        key = (setup.session_id, setup.stream_id)
        said = Stream(key, setup.initial_term_id, setup.term_length, setup.mtu, {packet.source}, begins=packet.number)
        position = said.position(setup.active_term_id, setup.term_offset)
        life = self._lives.get((key, packet.source))
        if life is None:
            said.begins = 0
            known = self.streams.setdefault(key, [])
            same = next((each for each in known if _description(each) == _description(said)), None)
            if same is None:
                known.append(said)
            else:
                same.senders.add(packet.source)
            life = self._lives[key, packet.source] = _Life(same or said, packet.time_ns, position)
            _note_control(life.stream, packet)
            return
        is_other = _description(life.stream) != _description(said) or position < life.position
        if is_other and (life.is_ended or packet.time_ns - life.last_ns >= SILENCE_NS):
            self.streams[key].append(said)
            self._lives[key, packet.source] = _Life(said, packet.time_ns, position)
            _note_control(said, packet)
            return
        _note_control(life.stream, packet)
        life.last_ns = packet.time_ns
        life.position = max(life.position, position)

    def on_data(self, packet: Packet) -> None:
        """Data, or a heartbeat: the stream lives, or says that it ends."""
        header = DataHeaderDecoder(packet.payload)
        life = self._lives.get(((header.session_id, header.stream_id), packet.source))
        if life is not None:
            _note_control(life.stream, packet)
            life.last_ns = packet.time_ns
            life.position = max(life.position, life.stream.position(header.term_id, header.term_offset))
            life.is_ended |= is_heartbeat(packet.payload) and bool(header.flags & (DataFlags.EOS | DataFlags.REVOKED))


def find_streams(found: Iterable[Packet]) -> dict[Key, list[Stream]]:
    """Return the streams that the capture introduces by their ids, each as its first valid SETUP describes it.

    Ids are those of one stream wherever SETUPs describe the same. A sender that has ended a stream, or was silent, may begin another with
    its ids; another sender may have one at the same time.
    """
    finder = _Finder()
    for packet in found:
        if is_valid_frame(packet.payload):
            if packet.type == FrameType.SETUP:
                finder.on_setup(packet)
            elif packet.type in (FrameType.DATA, FrameType.PAD):
                finder.on_data(packet)
    return finder.streams


def _description(stream: Stream) -> tuple[int, int, int]:
    return stream.initial_term_id, stream.term_length, stream.mtu


def _note_control(stream: Stream, packet: Packet) -> None:
    control = control_of(packet.destination)
    if control is not None:
        stream.controls.add(control)
    elif ipaddress.ip_address(packet.destination[0]).is_unspecified:
        stream.unnamed.add(packet.destination[1])
