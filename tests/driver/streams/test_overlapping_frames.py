"""Frames of the network that overlap, or say what they cannot be, never make a log that cannot be walked."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pytest

from aerowire.codecs.flyweights import transport
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.queues.events import EventType
from aerowire.logbuffer import scan
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost, SeenEvent
from tests.support.wire_source import INITIAL_TERM, SESSION, STREAM, TERM, WireSource

MS = 1_000_000
PLACE = ("10.0.0.2", 40001)
HUGE = [0x4000_0000, 0x7FFF_FFFF]


def frame(offset: int, length: int, *, fill: int = 0, kind: int = transport.FrameType.DATA) -> bytes:
    """A frame of `length` bytes whose payload says, every 32 bytes, that a frame of `fill` bytes begins there."""
    header = transport.DataHeaderEncoder.encode(
        frame_length=length, flags=0xC0, type=kind, term_offset=offset, session_id=SESSION, stream_id=STREAM, term_id=INITIAL_TERM
    )[:32]
    return (header + struct.pack("<i28x", fill) * (-(-length // 32) - 1))[: -(-length // 32) * 32]


def listen(world: SimulatedWorld, **options: Any) -> tuple[AgentHost, WireSource]:
    node = world.add(AgentHost(world.clock, **options))
    source = WireSource(world.network, PLACE)
    node.receive_at(world.network.open_port(PLACE))
    world.settle()
    source.setup()
    world.run(5 * MS)
    assert len(node.images) == 1
    return node, source


def send(world: SimulatedWorld, source: WireSource, *datagrams: bytes) -> None:
    for datagram in datagrams:
        source.send(datagram)
        world.run(MS)


def walked(node: AgentHost) -> list[tuple[int, int, bool]]:
    return scan.frames(node.images[0].log.term_view(0), 0, TERM)


def malformed(node: AgentHost) -> list[SeenEvent]:
    return node.events_of(EventType.MALFORMED_FRAME)


@pytest.mark.parametrize("fill", HUGE)
def test_a_chain_of_overlaps_ends_the_image_and_is_never_in_the_log(world: SimulatedWorld, fill: int) -> None:
    node, source = listen(world)
    send(world, source, frame(1024, 1024, fill=fill), frame(512, 1024, fill=fill), frame(0, 512, fill=fill))
    assert walked(node) == [(0, 512, False)]
    assert node.get(SystemCounter.INVALID_PACKETS) == 1
    assert node.images[0].rebuild_position == 512
    assert malformed(node) == []
    send(world, source, frame(512, 1024, fill=fill))
    world.run(20 * MS)
    (event,) = malformed(node)
    assert (event.subject, event.position, event.frame_length, event.room) == (node.images[0], 512, 1024, 512)
    assert node.get(SystemCounter.INVALID_PACKETS) == 2


def test_what_fits_the_gap_goes_on_after_a_conflict_that_was_not_at_it(world: SimulatedWorld) -> None:
    node, source = listen(world)
    send(world, source, frame(1024, 1024), frame(512, 1024), frame(0, 512), frame(512, 512))
    world.run(20 * MS)
    assert walked(node) == [(0, 512, False), (512, 512, False), (1024, 1024, False)]
    assert malformed(node) == []


def test_a_datagram_of_which_a_frame_is_there_brings_the_others(world: SimulatedWorld) -> None:
    node, source = listen(world)
    a, b, c, d = (frame(offset, 96, fill=offset) for offset in (0, 96, 192, 288))
    send(world, source, a, c, b + c + d)
    assert [offset for offset, _, _ in walked(node)] == [0, 96, 192, 288]
    assert node.images[0].rebuild_position == node.images[0].hwm_position == 384
    assert bytes(node.images[0].log.term_view(0)[:384]) == a + b + c + d
    assert node.get(SystemCounter.INVALID_PACKETS) == 0


def test_what_is_there_is_not_written_again(world: SimulatedWorld) -> None:
    node, source = listen(world)
    first = frame(64, 64, fill=1)
    send(world, source, first, frame(64, 64, fill=2), frame(0, 64) + frame(64, 64, fill=3))
    assert bytes(node.images[0].log.term_view(0)[64:128]) == first


def test_padding_whose_end_was_received_already_is_no_reason_to_write_across_it(world: SimulatedWorld) -> None:
    node, source = listen(world)
    send(world, source, frame(4096, 64), frame(64, 8192, kind=transport.FrameType.PAD)[:32], frame(0, 64))
    assert walked(node) == [(0, 64, False)]
    assert node.get(SystemCounter.INVALID_PACKETS) == 1


@pytest.mark.parametrize("length", [*range(1, 32), -1, -64, 65, 160, 0x7FFF_FFFF])
def test_frames_that_are_shorter_than_their_header_or_longer_than_the_datagram_are_invalid(world: SimulatedWorld, length: int) -> None:
    node, source = listen(world)
    bad = struct.pack("<i", length) + frame(64, 64)[4:]
    send(world, source, struct.pack("<i", length) + frame(0, 64)[4:], frame(0, 64) + bad, bad + frame(128, 64))
    assert node.get(SystemCounter.INVALID_PACKETS) == 3
    assert walked(node) == []


def test_an_unreliable_stream_fills_only_what_is_missing(world: SimulatedWorld) -> None:
    node, source = listen(world, reliable=False)
    send(world, source, frame(0, 64), frame(256, 64))
    world.run(20 * MS)
    assert [(offset, length) for offset, length, _ in walked(node)] == [(0, 64), (64, 192), (256, 64)]
    before = bytes(node.images[0].log.term_view(0))
    send(world, source, frame(64, 64, fill=9), frame(128, 256, fill=9), frame(64, 192, fill=9))
    assert bytes(node.images[0].log.term_view(0)) == before
    send(world, source, frame(320, 64))
    assert node.images[0].rebuild_position == 384


def test_random_overlaps_leave_a_log_of_whole_frames(seed: int) -> None:
    random = Random(seed)
    for _ in range(8):
        world = SimulatedWorld(seed=1)
        node, source = listen(world)
        end = 0
        for _ in range(400):
            offset = 32 * random.randrange(0, 512)
            parts = [32 * random.randint(1, 12) - random.randrange(32) for _ in range(random.randint(1, 3))]
            datagram = b""
            for part in parts:
                datagram += frame(offset + len(datagram), max(32, part), fill=random.choice([*HUGE, 1, 31, 64, -1]))
            source.send(datagram)
            end = max(end, offset + len(datagram))
        world.run(5 * MS)
        log = node.images[0].log.term_view(0)
        offset, starts = 0, set()
        while offset < end:
            if (length := struct.unpack_from("<i", log, offset)[0]) == 0:
                offset += 32
                continue
            assert length >= 32
            assert struct.unpack_from("<i", log, offset + 8)[0] == offset, "a frame is not where it says"
            starts.add(offset)
            offset += -(-length // 32) * 32
        assert starts


@pytest.mark.parametrize("length", [1, 31, 0x4000_0000, 0x7FFF_FFFF])
def test_a_damaged_image_is_found_by_the_agent_that_walks_it(world: SimulatedWorld, length: int) -> None:
    node, source = listen(world)
    send(world, source, frame(0, 64), frame(128, 64))
    struct.pack_into("<i", node.images[0].log.term_view(0), 64, length)
    world.run(20 * MS)
    (event,) = malformed(node)
    assert (event.position, event.frame_length, event.room) == (64, length, 0)
    assert node.images[0].rebuild_position == 64
