"""Hostile frames towards a real driver, and logs that a neighbour damages: errors say where, and every other stream stays whole."""

from __future__ import annotations

import contextlib
import mmap
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from aerowire.base.errors import MalformedFrameError
from aerowire.client import Aeron, FragmentAssembler, Image, PublicationErrorFrame, Subscription, wait_for
from aerowire.codecs.flyweights import transport
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import read_errors
from tests.support.processes import free_port
from tests.support.waiting import busy_no_longer_than
from tests.support.wire_source import SESSION, STREAM, TERM, data_frame, setup_frame

LIMIT_NS = 20_000_000_000
POLL_LIMIT_S = 0.5  # of processor time


@pytest.fixture
def driver() -> Iterator[MediaDriver]:
    with MediaDriver.launch_embedded(
        threading_mode="SHARED", term_buffer_length=TERM, ipc_term_buffer_length=TERM, timer_interval_ns=10_000_000
    ) as driver:
        yield driver


class Scene:
    """A client with a stream that is not attacked, and the errors that it got."""

    def __init__(self, driver: MediaDriver) -> None:
        self.driver = driver
        self.errors: list[BaseException] = []
        self.gone: list[Image] = []
        self.frames: list[PublicationErrorFrame] = []
        self.aeron = Aeron.connect(driver.aeron_dir, error_handler=self.errors.append, publication_error_frame_handler=self.frames.append)
        self.channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        self.bystander = self.aeron.add_subscription(self.channel, STREAM + 1)
        self.publication = self.aeron.add_publication(self.channel, STREAM + 1)
        self.got: list[bytes] = []
        self.sent = 0
        self.exchange()

    def exchange(self, count: int = 20) -> None:
        """Send messages over the bystander's stream and receive them in order."""
        self.got.clear()
        messages = [b"%08d" % (self.sent + i) for i in range(count)]
        self.sent += count
        for message in messages:
            self.publication.send(message, timeout_ns=LIMIT_NS)
        take = FragmentAssembler(lambda _b, _o, _l, header: self.got.append(header.payload()))
        assert wait_for(lambda: self.bystander.poll(take) >= 0 and len(self.got) >= count, LIMIT_NS)
        assert self.got == messages

    def driver_errors(self) -> list[str]:
        with CncFile.map(Path(self.driver.aeron_dir) / "cnc.dat") as cnc:
            return [error.text for error in read_errors(cnc.error_log_buffer)]

    def wait(self, is_so: Callable[[], Any]) -> None:
        assert wait_for(lambda: bool(is_so()), LIMIT_NS, sleep_max_s=0.005)

    def poll_until(self, subscription: Subscription, is_so: Callable[[], Any]) -> None:
        def polled() -> Any:
            poll_in_turn(subscription)
            return is_so()

        self.wait(polled)


@pytest.fixture
def scene(driver: MediaDriver) -> Iterator[Scene]:
    scene = Scene(driver)
    yield scene
    scene.aeron.close()


def frame(offset: int, length: int, *, fill: int = 0, said: int | None = None) -> bytes:
    """A frame of `length` bytes in whose payload every 32 bytes begin with `fill`, and whose length says something else if asked."""
    payload = struct.pack("<i28x", fill) * (-(-length // 32) - 1)
    return data_frame(offset, payload, frame_length=length if said is None else said)


def poll_in_turn(subscription: Subscription) -> None:
    """Poll in each way; none takes long, whatever the log holds."""
    seen: list[bytes] = []

    def take(buffer: memoryview, offset: int, length: int, _header: object) -> None:
        seen.append(bytes(buffer[offset : offset + length]))

    def blocks() -> None:
        with subscription.poll_block(4096) as block:
            block.payloads()

    for way in (
        lambda: subscription.poll(take, 3),
        lambda: subscription.poll(FragmentAssembler(take), 3),
        lambda: subscription.controlled_poll(take, 3),
        lambda: subscription.poll_many(3),
        blocks,
        lambda: list(subscription.messages(timeout_ns=0)),
        lambda: [bytes(view) for view in subscription.views(timeout_ns=0)],
    ):
        with busy_no_longer_than(POLL_LIMIT_S, "a poll took too long"):
            way()


Attacked = tuple[Scene, Subscription, Callable[..., None], socket.socket]


@pytest.fixture
def attacked(scene: Scene) -> Iterator[Attacked]:
    """A subscription, a socket that sends to it, and an image of what that socket says."""
    port = free_port()
    subscription = scene.aeron.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", STREAM, unavailable_image_handler=scene.gone.append)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source:
        source.bind(("127.0.0.1", 0))
        source.connect(("127.0.0.1", port))

        def send(*datagrams: bytes) -> None:
            for datagram in datagrams:
                source.send(datagram)

        send(setup_frame())
        scene.wait(lambda: subscription.is_connected)
        yield scene, subscription, send, source


@pytest.mark.parametrize("fill", [0x4000_0000, 0x7FFF_FFFF])
def test_a_chain_of_overlaps_at_the_gap_ends_the_image_with_an_error(attacked: Attacked, fill: int) -> None:
    scene, subscription, send, source = attacked
    for offset, length in ((1024, 1024), (512, 1024), (0, 512)):
        send(frame(offset, length, fill=fill))
        poll_in_turn(subscription)

    def is_logged() -> bool:
        send(frame(512, 1024, fill=fill))
        return bool(scene.driver_errors())

    scene.wait(is_logged)
    (text,) = scene.driver_errors()
    assert "MalformedFrameError" in text
    assert all(part in text for part in (f"session {SESSION}", f"stream {STREAM}", "position 512", "frame length of 1024"))
    source.settimeout(0.1)
    kinds = set()

    def is_refused() -> bool:
        with contextlib.suppress(TimeoutError):
            while transport.FrameType.ERR not in kinds:
                kinds.add(transport.FrameHeaderDecoder(source.recv(2048)).type)
        return transport.FrameType.ERR in kinds

    scene.wait(is_refused)
    assert scene.aeron.counters_reader.value(SystemCounter.IMAGES_REJECTED) == 1
    poll_in_turn(subscription)
    scene.exchange()


def test_random_overlaps_and_short_frames_harm_nobody(attacked: Attacked, seed: int) -> None:
    scene, subscription, send, _ = attacked
    random = Random(seed)
    for i in range(1500):
        offset = 32 * random.randrange(0, 600)
        length = random.choice([32, 64, 100, 512, 1024, 1376])
        if random.random() < 0.2:
            send(frame(offset, 64, said=random.choice([*range(1, 32), 65, 0x7FFF_FFFF, -64])))
        else:
            send(frame(offset, length, fill=random.choice([1, 31, 0x4000_0000, 0x7FFF_FFFF])))
        if i % 50 == 0:
            poll_in_turn(subscription)
        if i % 500 == 0:
            scene.exchange()
    scene.exchange()
    assert not [error for error in scene.errors if not isinstance(error, MalformedFrameError)]


def poke(path: str, offset: int, value: int) -> None:
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:  # noqa: PTH123
        struct.pack_into("<i", memory, offset, value)


@pytest.mark.parametrize("length", [1, 31, 0x4000_0000, 0x7FFF_FFFF])
def test_a_damaged_image_ends_with_an_error_here_and_in_the_driver(attacked: Attacked, length: int) -> None:
    scene, subscription, _, _ = attacked
    (image,) = subscription.images
    poke(image.file.name, 0, length)
    poll_in_turn(subscription)
    scene.wait(lambda: scene.gone and scene.errors)
    (error,) = scene.errors
    assert isinstance(error, MalformedFrameError)
    assert (error.session_id, error.stream_id, error.position, error.frame_length) == (SESSION, STREAM, 0, length)
    assert subscription.images == ()
    scene.wait(scene.driver_errors)
    assert any("MalformedFrameError" in text and "position 0" in text for text in scene.driver_errors())
    scene.exchange()


@pytest.mark.parametrize("is_exclusive", [True, False])
@pytest.mark.parametrize("medium", ["udp", "ipc"])
@pytest.mark.parametrize("length", [1, 0x7FFF_FFFF])
def test_a_publication_whose_log_is_damaged_ends_with_an_error(scene: Scene, medium: str, is_exclusive: bool, length: int) -> None:
    channel = "aeron:ipc" if medium == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscription = scene.aeron.add_subscription(channel, STREAM, unavailable_image_handler=scene.gone.append)
    add = scene.aeron.add_exclusive_publication if is_exclusive else scene.aeron.add_publication
    publication: Any = add(channel, STREAM)
    publication.send(b"whole", timeout_ns=LIMIT_NS)
    (path,) = (Path(scene.driver.aeron_dir) / "publications").glob(f"{publication.original_registration_id}.logbuffer")
    poke(str(path), 64, length)
    scene.poll_until(subscription, lambda: any("MalformedFrameError" in text for text in scene.driver_errors()))
    text = next(text for text in scene.driver_errors() if "MalformedFrameError" in text)
    assert all(part in text for part in (f"session {publication.session_id}", f"stream {STREAM}", f"frame length of {length}"))
    scene.wait(lambda: any("MalformedFrame" in f.error_message or "cannot be stepped over" in f.error_message for f in scene.frames))
    scene.poll_until(subscription, lambda: scene.gone)
    scene.wait(lambda: not publication.is_connected)
    scene.exchange()
    again: Any = add(channel, STREAM)
    assert again.session_id != publication.session_id
