"""Goes through a capture and holds each packet to the rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameType
from aerowire.conformance.harness.capture import Datagram, read_datagrams
from aerowire.conformance.rules import DATA_TYPES
from aerowire.conformance.verdicts.checks import RuleChecks
from aerowire.conformance.verdicts.form import check_form, ids_of
from aerowire.conformance.verdicts.packets import Key, Packet, Stream, key_of_data, packets, speakers
from aerowire.conformance.verdicts.receiver import ReceiverRules
from aerowire.conformance.verdicts.segmentation import segments
from aerowire.conformance.verdicts.sender import SenderRules
from aerowire.conformance.verdicts.state import Capture
from aerowire.conformance.verdicts.streams import find_streams


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What became of one capture."""

    name: str
    packets: int
    streams: int
    checks: RuleChecks

    @property
    def is_pass(self) -> bool:
        """Whether no rule was broken and at least one was put to the test."""
        return bool(self.checks.counts) and not self.checks.violations


def evaluate_file(path: Path, ports: frozenset[int] = frozenset()) -> Evaluation:
    """Judge a pcap or pcapng file. Raises CaptureError for a file that is none, OSError for one that cannot be read."""
    return evaluate_datagrams(path.name, read_datagrams(path), ports)


def evaluate_datagrams(name: str, datagrams: Iterable[Datagram], ports: frozenset[int] = frozenset()) -> Evaluation:
    """Judge datagrams in the order of the capture; `ports` leaves all others out."""
    captured = list(datagrams)
    found = list(packets(captured, ports))
    checks = RuleChecks()
    streams = find_streams(found)
    capture = Capture(streams)
    senders, receivers = SenderRules(checks), ReceiverRules(checks)
    known = speakers(found, streams)
    evaluated = 0
    for packet in found:
        # What strangers on the same ports say is not Aeron's.
        if packet.source in known:
            evaluated += 1
            for each in _segments(packet, streams):
                if check_form(checks, each):
                    _take(each, capture, senders, receivers)
    has_losses = any(datagram.is_dropped for datagram in captured)
    for state in capture.states:
        state.is_lossy |= has_losses
        senders.at_end(state)
    checks.violations.sort(key=lambda violation: violation.packets[-1])
    return Evaluation(name, evaluated, len(capture.states), checks)


def _segments(packet: Packet, streams: Mapping[Key, Sequence[Stream]]) -> Iterable[Packet]:
    """Return the packets of data that a captured one stands for, by the largest MTU of its stream."""
    if len(packet.payload) < DataHeaderDecoder.ENCODED_LENGTH or packet.type not in DATA_TYPES:
        return [packet]
    known = streams.get(key_of_data(packet), ())
    mtu = max((stream.mtu for stream in known), default=len(packet.payload))
    return [packet._replace(payload=payload) for payload in segments(packet.payload, mtu)]


def _take(packet: Packet, capture: Capture, senders: SenderRules, receivers: ReceiverRules) -> None:
    kind = packet.type
    if kind == FrameType.RES:
        return
    key = ids_of(packet.payload)
    state = capture.state(key, packet)
    if state is None:
        if kind == FrameType.SM:
            receivers.on_general_request(packet, capture)
        return
    state.begin(packet)
    if kind == FrameType.RTTM:
        receivers.on_rttm(packet, capture, state)
    elif kind == FrameType.SETUP:
        senders.on_setup(packet, state)
    elif kind in (FrameType.DATA, FrameType.PAD):
        senders.on_data(packet, state)
    elif kind == FrameType.SM:
        receivers.on_status(packet, state)
    elif kind == FrameType.NAK:
        receivers.on_nak(packet, state)
    elif kind == FrameType.ERR:
        receivers.on_error(packet, state)
    elif kind == FrameType.RSP_SETUP:
        receivers.on_response_setup(packet, state)
