"""Streams through a real driver, IPC and UDP alike: what an application sees of joining, order, terms, claims and ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from aerowire.client import (
    BACK_PRESSURED,
    MAX_POSITION_EXCEEDED,
    NOT_CONNECTED,
    Aeron,
    ExclusivePublication,
    FragmentAssembler,
    Publication,
    Subscription,
    wait_for,
)
from aerowire.driver import MediaDriver
from tests.support.processes import free_port

LIMIT_NS = 20_000_000_000
STREAM = 1001
IPC = "aeron:ipc"
TERM = 65536
LAST_TERM_ID = 2**31 - 1
HEADER = 32


class Reader:
    """A subscription with the messages that it has delivered."""

    def __init__(self, aeron: Aeron, channel: str) -> None:
        self.channel = channel
        self.subscription: Subscription = aeron.add_subscription(channel, STREAM)
        self.messages: list[bytes] = []
        self.assembler = FragmentAssembler(lambda _buffer, _offset, _length, header: self.messages.append(header.payload()))

    def poll(self) -> int:
        return self.subscription.poll(self.assembler, 50)

    def read(self, count: int) -> list[bytes]:
        """Poll until `count` messages are there; take them."""

        def is_there() -> bool:
            self.poll()
            return len(self.messages) >= count

        assert wait_for(is_there, LIMIT_NS, sleep_max_s=0.001), f"{len(self.messages)} of {count} messages came"
        taken, self.messages[:] = self.messages[:count], self.messages[count:]
        return taken


@pytest.fixture(scope="module")
def aeron() -> Iterator[Aeron]:
    with (
        MediaDriver.launch_embedded(
            threading_mode="SHARED",
            term_buffer_length=TERM,
            ipc_term_buffer_length=TERM,
            publication_linger_timeout_ns=100_000_000,
            timer_interval_ns=10_000_000,
        ) as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as client,
    ):
        yield client


@pytest.fixture(params=["ipc", "udp"])
def reader(aeron: Aeron, request: pytest.FixtureRequest) -> Iterator[Reader]:
    reader = Reader(aeron, IPC if request.param == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}")
    with reader.subscription:
        yield reader


def channel_to(reader: Reader, *parameters: str) -> str:
    """Return the reader's channel with more parameters."""
    return "|".join([f"{reader.channel}{'' if '?' in reader.channel else '?alias=test'}", *parameters])


def send(publication: Publication | ExclusivePublication, *messages: bytes, reader: Reader | None = None) -> None:
    for message in messages:

        def is_taken(message: bytes = message) -> bool:
            if reader is not None:
                reader.poll()
            return publication.offer(message) > 0

        assert wait_for(is_taken, LIMIT_NS, sleep_max_s=0.001)


def test_a_stream_wraps_its_term_ids(aeron: Aeron, reader: Reader) -> None:
    place = (f"init-term-id={LAST_TERM_ID}", f"term-id={LAST_TERM_ID}", f"term-offset={TERM - 2048}")
    messages = [index.to_bytes(2, "little") * 500 for index in range(300)]
    with aeron.add_exclusive_publication(channel_to(reader, *place), STREAM) as publication:
        assert (publication.initial_term_id, publication.position) == (LAST_TERM_ID, TERM - 2048)
        send(publication, *messages, reader=reader)
        assert publication.position > 3 * TERM
        assert reader.read(len(messages)) == messages
        assert reader.subscription.images[0].position == publication.position


def test_a_stream_begins_where_its_channel_says(aeron: Aeron, reader: Reader) -> None:
    with aeron.add_exclusive_publication(channel_to(reader, "init-term-id=-3", "term-id=2", "term-offset=4096"), STREAM) as publication:
        assert publication.position == 5 * TERM + 4096
        send(publication, b"first")
        assert reader.read(1) == [b"first"]
        assert reader.subscription.images[0].join_position == 5 * TERM + 4096


def test_messages_of_every_length_up_to_the_longest_arrive_whole(aeron: Aeron, reader: Reader) -> None:
    with aeron.add_publication(channel_to(reader), STREAM) as publication:
        longest, payload = publication.max_message_length, publication.max_payload_length
        lengths = (0, 1, payload - 1, payload, payload + 1, 2 * payload, longest - 1, longest)
        messages = [bytes([index]) * length for index, length in enumerate(lengths, 1)]
        send(publication, *messages, reader=reader)
        assert reader.read(len(messages)) == messages


def test_an_aborted_claim_is_skipped(aeron: Aeron, reader: Reader) -> None:
    with aeron.add_publication(channel_to(reader), STREAM) as publication:
        assert wait_for(lambda: publication.is_connected and publication.available_window > 0, LIMIT_NS)
        for text, is_kept in ((b"kept", True), (b"gone", False), (b"also", True)):
            claim = publication.try_claim(len(text))
            assert claim
            claim.put_bytes(text)
            if is_kept:
                claim.commit()
            else:
                claim.abort()
        assert reader.read(2) == [b"kept", b"also"]


def test_results_say_why_nothing_was_taken(aeron: Aeron) -> None:
    last = f"init-term-id=0|term-id={LAST_TERM_ID}|term-offset={TERM - 1024}"
    with aeron.add_exclusive_publication(f"{IPC}?{last}", STREAM) as publication:
        assert publication.offer(b"x") == NOT_CONNECTED
        with Reader(aeron, IPC).subscription:
            assert wait_for(lambda: publication.is_connected, LIMIT_NS)
            assert wait_for(lambda: publication.offer(bytes(1000)) == MAX_POSITION_EXCEEDED, LIMIT_NS)
    with aeron.add_exclusive_publication(IPC, STREAM) as other, Reader(aeron, IPC).subscription:
        assert wait_for(lambda: other.is_connected, LIMIT_NS)
        assert wait_for(lambda: other.offer(bytes(1000)) == BACK_PRESSURED, LIMIT_NS)


def test_each_subscriber_of_a_stream_gets_all_of_it(aeron: Aeron, reader: Reader) -> None:
    messages = [b"%d" % index for index in range(200)]
    with aeron.add_publication(channel_to(reader), STREAM) as publication:
        second = Reader(aeron, reader.channel)
        with second.subscription:
            assert wait_for(lambda: reader.subscription.is_connected and second.subscription.is_connected, LIMIT_NS)
            send(publication, *messages)
            assert reader.read(len(messages)) == messages
            assert second.read(len(messages)) == messages


def test_a_late_subscriber_joins_where_the_stream_stands(aeron: Aeron, reader: Reader) -> None:
    with aeron.add_publication(channel_to(reader), STREAM) as publication:
        send(publication, b"early")
        assert reader.read(1) == [b"early"]
        late = Reader(aeron, reader.channel)

        def joins_where_the_stream_stands() -> bool:
            """Try anew: a subscriber that comes before the driver has noted what was read joins where the slowest reader stood."""
            nonlocal late
            late.subscription.close()
            late = Reader(aeron, reader.channel)
            assert wait_for(lambda: late.subscription.is_connected, LIMIT_NS)
            return bool(late.subscription.images[0].join_position == publication.position)

        assert wait_for(joins_where_the_stream_stands, LIMIT_NS)
        with late.subscription:
            send(publication, b"after")
            assert late.read(1) == [b"after"]
            assert reader.read(1) == [b"after"]


def test_a_subscriber_that_leaves_holds_up_nobody(aeron: Aeron, reader: Reader) -> None:
    with aeron.add_publication(channel_to(reader), STREAM) as publication:
        idle = Reader(aeron, reader.channel)
        assert wait_for(lambda: idle.subscription.is_connected and reader.subscription.is_connected, LIMIT_NS)
        assert wait_for(lambda: reader.poll() >= 0 and publication.offer(bytes(1000)) == BACK_PRESSURED, LIMIT_NS)
        idle.subscription.close()
        before = publication.position
        send(publication, *[bytes(1000)] * 200, reader=reader)
        assert publication.position - before >= 200 * 1000


@pytest.mark.threads
def test_threads_share_a_publication(aeron: Aeron, reader: Reader) -> None:
    count = 300
    with aeron.add_publication(channel_to(reader), STREAM) as publication:
        threads = [
            threading.Thread(target=lambda who=who: send(publication, *[b"%d:%d" % (who, index) for index in range(count)]))
            for who in range(3)
        ]
        for thread in threads:
            thread.start()
        messages = reader.read(3 * count)
        for thread in threads:
            thread.join()
    for who in range(3):
        mine = [message for message in messages if message.startswith(b"%d:" % who)]
        assert mine == [b"%d:%d" % (who, index) for index in range(count)]


def test_batches_and_blocks_carry_what_single_calls_do(aeron: Aeron, reader: Reader) -> None:
    messages = [b"%04d" % index for index in range(100)]
    with aeron.add_exclusive_publication(channel_to(reader), STREAM) as publication:
        assert wait_for(lambda: publication.available_window > 0 and reader.subscription.is_connected, LIMIT_NS)
        assert publication.offer_many(messages) == len(messages)
        got: list[bytes] = []

        def has_all_messages() -> bool:
            got.extend(reader.subscription.poll_many(30))
            return len(got) >= len(messages)

        assert wait_for(has_all_messages, LIMIT_NS)
        assert got == messages
        assert publication.offer_many(messages) == len(messages)
        length = 0

        def has_all_bytes() -> bool:
            nonlocal length
            with reader.subscription.poll_block(TERM) as block:
                length += block.length
            return length >= len(messages) * 2 * HEADER

        assert wait_for(has_all_bytes, LIMIT_NS)
        assert length == len(messages) * 2 * HEADER


def test_the_end_of_a_stream_is_seen_after_its_last_message(aeron: Aeron, reader: Reader) -> None:
    with aeron.add_publication(channel_to(reader), STREAM) as publication:
        send(publication, b"last")
        assert wait_for(lambda: reader.subscription.is_connected, LIMIT_NS)
        image = reader.subscription.images[0]
        end = publication.position
    assert reader.read(1) == [b"last"]
    assert wait_for(lambda: image.is_closed or image.is_end_of_stream, LIMIT_NS)
    assert image.position == end
    assert wait_for(lambda: reader.subscription.has_no_images, LIMIT_NS)
