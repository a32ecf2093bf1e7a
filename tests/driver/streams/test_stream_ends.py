"""Ends of streams that anybody may forge: what an image believes, and what it takes back."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import FrameType, SmFlags
from aerowire.driver.queues.events import EventType, NativeErrorCode
from aerowire.driver.resources.stream_counters import OWN_COUNTERS
from aerowire.protocol.lifecycle import ImageState
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost
from tests.support.wire_source import FRAME, WireSource

MS = 1_000_000
PLACE = ("10.0.0.2", 40001)
FORGER = ("10.0.0.66", 666)
UNSET = (1 << 63) - 1
DISBELIEVED = next(number for number, kind in OWN_COUNTERS.items() if kind.name == "STREAM_ENDS_DISBELIEVED")


def stream(world: SimulatedWorld, frames: int = 3) -> tuple[AgentHost, WireSource, WireSource]:
    """Return a node with one image of so many frames, its sender's socket, and another's."""
    node = world.add(AgentHost(world.clock))
    source = WireSource(world.network, PLACE)
    forger = WireSource(world.network, PLACE, host=FORGER[0], port=FORGER[1])
    node.receive_at(world.network.open_port(PLACE))
    world.settle()
    source.setup()
    world.run(5 * MS)
    for at in range(frames):
        source.data(at * FRAME)
    world.run(5 * MS)
    node.subscribers[0].poll()
    world.run(5 * MS)
    return node, source, forger


def beat(world: SimulatedWorld, node: AgentHost, source: WireSource, offset: int, times: int) -> None:
    for _ in range(times):
        source.heartbeat(offset)
        node.subscribers[0].poll()
        world.run(100 * MS)


def count_images_made(node: AgentHost) -> int:
    return node.kinds().count(EventType.CREATE_IMAGE)


def test_a_forged_end_behind_what_was_received_is_not_believed(world: SimulatedWorld) -> None:
    node, source, forger = stream(world)
    forger.heartbeat(FRAME, eos=True)
    world.run(5 * MS)
    image = node.images[0]
    assert (image.state, image.log.eos_position) == (ImageState.ACTIVE, UNSET)
    assert node.counters.value(DISBELIEVED) == 1
    assert [event.code for event in node.events_of(EventType.NATIVE_ERROR)] == [NativeErrorCode.END_DISBELIEVED]
    beat(world, node, source, 3 * FRAME, 20)
    assert (image.state, count_images_made(node)) == (ImageState.ACTIVE, 1)


def test_a_forged_revocation_behind_what_was_received_is_not_believed(world: SimulatedWorld) -> None:
    node, _, forger = stream(world)
    forger.heartbeat(2 * FRAME, eos=True, revoked=True)
    world.run(50 * MS)
    assert (node.images[0].state, node.images[0].log.eos_position) == (ImageState.ACTIVE, UNSET)


def test_a_forged_end_at_the_position_of_a_quiet_stream_is_taken_back_after_two_heartbeats(world: SimulatedWorld) -> None:
    node, source, forger = stream(world)
    image = node.images[0]
    forger.heartbeat(3 * FRAME, eos=True)
    world.run(5 * MS)
    assert (image.state, image.log.eos_position) == (ImageState.DRAINING, 3 * FRAME)
    assert source.answers(FrameType.SM)[-1].flags == SmFlags.EOS
    beat(world, node, source, 3 * FRAME, 1)
    assert image.state == ImageState.DRAINING
    beat(world, node, source, 3 * FRAME, 1)
    assert (image.state, image.log.eos_position) == (ImageState.ACTIVE, UNSET)
    assert source.answers(FrameType.SM)[-1].flags == 0
    source.data(3 * FRAME)
    beat(world, node, source, 4 * FRAME, 30)
    assert (image.rebuild_position, image.state, count_images_made(node)) == (4 * FRAME, ImageState.ACTIVE, 1)
    assert len(node.subscribers[0].fragments) == 4


def test_a_forged_end_is_taken_back_by_the_next_data(world: SimulatedWorld) -> None:
    node, source, forger = stream(world)
    image = node.images[0]
    forger.heartbeat(3 * FRAME, eos=True)
    world.run(5 * MS)
    source.data(3 * FRAME)
    world.run(5 * MS)
    assert (image.state, image.log.eos_position, image.rebuild_position) == (ImageState.ACTIVE, UNSET, 4 * FRAME)
    assert node.counters.value(DISBELIEVED) == 1


def test_a_forged_end_ahead_is_taken_back_when_the_stream_passes_it(world: SimulatedWorld) -> None:
    node, source, forger = stream(world)
    image = node.images[0]
    forger.heartbeat(5 * FRAME, eos=True)
    world.run(5 * MS)
    assert (image.state, image.log.eos_position) == (ImageState.ACTIVE, 5 * FRAME)
    for at in range(3, 8):
        source.data(at * FRAME)
    world.run(5 * MS)
    assert (image.state, image.log.eos_position, image.rebuild_position) == (ImageState.ACTIVE, UNSET, 8 * FRAME)


def test_the_end_of_its_own_sender_ends_a_stream_as_ever(world: SimulatedWorld) -> None:
    node, source, _ = stream(world)
    source.heartbeat(3 * FRAME)
    world.run(100 * MS)
    for _ in range(12):
        source.heartbeat(3 * FRAME, eos=True)
        world.run(100 * MS)
    assert EventType.IMAGE_LINGER in node.kinds()
    assert node.counters.value(DISBELIEVED) == 0


def test_one_heartbeat_that_the_end_overtook_changes_nothing(world: SimulatedWorld) -> None:
    node, source, _ = stream(world)
    source.heartbeat(3 * FRAME, eos=True)
    source.heartbeat(3 * FRAME)
    world.run(1_200 * MS)
    assert EventType.IMAGE_LINGER in node.kinds()
    assert node.counters.value(DISBELIEVED) == 0
