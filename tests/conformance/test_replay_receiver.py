"""What the harness in the captured receiver's place holds a driver to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import DataHeaderEncoder, FrameType
from aerowire.conformance.harness.frames import StreamFrames
from aerowire.conformance.impairment import Impairment
from aerowire.conformance.replay_outcome import StreamOutcome
from aerowire.conformance.replay_receiver import PlayedReceiver

TERM_LENGTH = 65536
LIMIT = TERM_LENGTH - 32  # what the windows allow: a header more than the frame below begins at


class Wire:
    """Gives what it holds once, and sends nothing."""

    def __init__(self, payload: bytes) -> None:
        self.arrivals = [SimpleNamespace(payload=payload)]

    def read(self) -> None: ...

    def send(self, payload: bytes, to: Any) -> None: ...


def finding(kind: FrameType, frame_length: int) -> str:
    """Return what is said of a frame that begins 64 bytes before the end of its term."""
    payload = DataHeaderEncoder.encode(
        type=kind, frame_length=frame_length, session_id=7, stream_id=1001, term_id=3, term_offset=TERM_LENGTH - 64, flags=0xC0
    )
    if kind is FrameType.DATA:
        payload += bytes(frame_length - len(payload))
    frames = StreamFrames(session_id=7, stream_id=1001, initial_term_id=3, term_length=TERM_LENGTH)
    wire: Any = Wire(payload)
    publication = SimpleNamespace(start_position=0)
    talk: Any = SimpleNamespace(
        sink=SimpleNamespace(wire=wire, receiver_id=5, publication=publication, driver=None), frames=frames, limit=LIMIT, asked=[]
    )
    outcome = StreamOutcome(session_id=7, stream_id=1001)
    receiver = PlayedReceiver(talk, wire, outcome, Impairment(), "one", is_asking=False, is_old=False)
    receiver.work(0)
    return outcome.finding


@pytest.mark.parametrize("frame_length", [32, 64])
def test_padding_fits_into_a_window_with_its_header(frame_length: int) -> None:
    assert finding(FrameType.PAD, frame_length) == ""


def test_data_beyond_the_windows_is_found() -> None:
    assert finding(FrameType.DATA, 32) == ""
    assert finding(FrameType.DATA, 64) == f"data up to position {TERM_LENGTH} was sent, no window allowed more than {LIMIT}"
